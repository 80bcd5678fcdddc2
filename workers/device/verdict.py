"""What a finished command says about itself. Phones report failures in text, often with exit code 0."""

import re

from workers.device.outcome import Done, ErrorCode, Failed, Outcome, Unknown
from workers.device.shell import ShellOutput

# Each looks at a character a few times at most: what they search was made by the phone.
_EXCEPTION = re.compile(r"(?<![\w.])(?:[a-z]\w*\.)+\w*(?:Exception|Error)\b[^\n]*")
_ERROR_LINE = re.compile(r"^[ \t]*(?:Error\b|usage:).*$", re.MULTILINE | re.IGNORECASE)

#: From here on an exit code names the signal that ended the command, perhaps after it had its effect.
_FIRST_SIGNAL_EXIT_CODE = 129
_LAST_SIGNAL_EXIT_CODE = 128 + 64

_SHORT_CHARACTERS = 200

INPUT_NOT_PERMITTED = Failed(
    ErrorCode.INPUT_NOT_PERMITTED,
    "the phone refuses input over adb (INJECT_EVENTS); switch on "
    "'USB debugging (Security settings)' in its developer options",
)


def outcome_of(answer: ShellOutput | Failed | Unknown) -> Outcome:
    """The outcome of one command that changes the device."""
    if not isinstance(answer, ShellOutput):
        return answer
    text = answer.text
    if "INJECT_EVENTS" in text:
        return INPUT_NOT_PERMITTED
    complaint = _EXCEPTION.search(text) or _ERROR_LINE.search(text)
    if complaint is not None:
        return Failed(ErrorCode.COMMAND_FAILED, f"the phone said: {short(complaint.group())}")
    if _FIRST_SIGNAL_EXIT_CODE <= answer.exit_code <= _LAST_SIGNAL_EXIT_CODE:
        return Unknown(ErrorCode.COMMAND_FAILED, f"the command was killed by signal {answer.exit_code - 128}")
    if answer.exit_code != 0:
        return Failed(ErrorCode.COMMAND_FAILED, f"exit code {answer.exit_code}: {short(text)}")
    return Done(text.strip())


def short(text: str) -> str:
    """One line for a message, whatever the phone printed."""
    line = " ".join(text.split())
    return line if len(line) <= _SHORT_CHARACTERS else line[: _SHORT_CHARACTERS - 1] + "…"
