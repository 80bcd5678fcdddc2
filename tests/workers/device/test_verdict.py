"""What phones print when something did not work, often with exit code 0."""

import time

import pytest

from workers.device.outcome import Done, ErrorCode, Failed, Unknown
from workers.device.screenshot import png_in
from workers.device.shell import ShellOutput
from workers.device.verdict import outcome_of

PNG = b"\x89PNG\r\n\x1a\n" + b"...." + b"\x00\x00\x00\x00IEND\xaeB`\x82"

INJECT_EVENTS = (
    "java.lang.SecurityException: Injecting input events requires the caller (or the source of the instrumentation, "
    "if any) to have the INJECT_EVENTS permission."
)
NULL_POINTER = """
Exception occurred while executing 'text':
java.lang.NullPointerException: Attempt to get length of null array
\tat com.android.server.input.InputShellCommand.sendText(InputShellCommand.java:255)
"""


def verdict(stdout: str, exit_code: int = 0):
    return outcome_of(ShellOutput(stdout.encode(), b"", exit_code))


def test_a_refusal_to_inject_events_is_told_with_what_to_do():
    outcome = verdict(INJECT_EVENTS)
    assert outcome.code is ErrorCode.INPUT_NOT_PERMITTED
    assert "USB debugging (Security settings)" in outcome.message


@pytest.mark.parametrize("exit_code", [0, 255])
def test_a_java_exception_is_a_failure_whatever_the_exit_code(exit_code):
    outcome = verdict(NULL_POINTER, exit_code)
    assert isinstance(outcome, Failed)
    assert "NullPointerException" in outcome.message


@pytest.mark.parametrize("text", ["Error: Unknown keycode: FOO", "Error type 3\nError: Activity class does not exist."])
def test_an_error_line_is_a_failure(text):
    assert verdict(text).code is ErrorCode.COMMAND_FAILED


def test_an_exit_code_is_a_failure():
    assert verdict("", 1) == Failed(ErrorCode.COMMAND_FAILED, "exit code 1: ")


def test_a_killed_command_may_have_had_its_effect():
    assert isinstance(verdict("Killed", 137), Unknown)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Success",
        "Warning: Activity not started, its current task has been brought to the front",
        "Starting: Intent",
    ],
)
def test_the_rest_is_done(text):
    assert verdict(text) == Done(text)


@pytest.mark.parametrize("around", [(b"", b""), (b"[Warning] Multiple displays were found\n", b""), (b"", b"\r\n")])
def test_a_screenshot_is_the_picture_alone(around):
    before, after = around
    assert png_in(before + PNG + after) == PNG


@pytest.mark.parametrize(
    ("output", "reason"), [(b"", "nothing at all"), (b"Killed", "Killed"), (PNG[:-6], "cut short"), (bytes(99), "")]
)
def test_no_picture_is_a_failure_and_nothing_stands_in_for_it(output, reason):
    failed = png_in(output)
    assert isinstance(failed, Failed)
    assert failed.code is ErrorCode.SCREENSHOT_UNAVAILABLE
    assert reason in failed.message


@pytest.mark.parametrize("text", ["a." * 200_000, "\n" * 200_000, "aException." * 50_000, "usage " * 100_000])
def test_hostile_output_is_judged_quickly(text):
    started = time.monotonic()
    verdict(text)
    assert time.monotonic() - started < 2.0
