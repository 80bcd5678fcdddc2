"""Starting an app and making sure that it came up.

    resolve-activity ──► nothing: app_not_installed | app_not_launchable
         │ component
    pm clear / am force-stop ──► am start -n ──► poll the foreground ──► done | app_not_launchable

`monkey` is not used: it reports failures for apps that it started, and success for some that it did not.
"""

import re
import time

from workers.device.actions import LaunchApp
from workers.device.command_line import command, in_sequence, while_successful
from workers.device.deadline import Deadline
from workers.device.outcome import Done, ErrorCode, Failed, Outcome
from workers.device.shell import Shell, ShellOutput
from workers.device.verdict import outcome_of, short

#: A cold start of a heavy app on a slow phone takes this long until its first window has the focus.
FOREGROUND_DEADLINE_SECONDS = 15.0
_FOREGROUND_POLL_SECONDS = 0.2
_START_DEADLINE_SECONDS = 20.0

_PACKAGE = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*")
_COMPONENT = re.compile(r"^[A-Za-z][\w.]*/[\w.$]+$", re.MULTILINE)
_FOREGROUND = re.compile(
    r"(?:mCurrentFocus=Window|mFocusedApp=.*ActivityRecord|(?:m|top)ResumedActivity[=:] *ActivityRecord)"
    r"\{\S+ (?:\S+ )?([A-Za-z][\w.]*)/"
)
#: A question of the system that an app asks at its first start stands in front of it: the app is up.
_SYSTEM_QUESTION = re.compile(r"\.(?:permissioncontroller|packageinstaller)$")


def launch_app(shell: Shell, action: LaunchApp) -> Outcome:
    """`Done` when the app is in the foreground."""
    component = _launcher_activity(shell, action.package)
    if isinstance(component, Failed):
        return component
    if action.clear_state:
        cleared = clear_app(shell, action.package)
        if not isinstance(cleared, Done):
            return cleared
    started = _start(shell, component, stop_first=action.stop_first)
    return _wait_for_foreground(shell, action.package) if isinstance(started, Done) else started


def stop_app(shell: Shell, package: str) -> Outcome:
    """An app that does not run, or is not installed, is stopped already."""
    return _refusal(package) or outcome_of(shell.run(command("am", "force-stop", package), changes_device=True))


def clear_app(shell: Shell, package: str) -> Outcome:
    """Stops the app and deletes all it has stored."""
    refused = _refusal(package)
    if refused is not None:
        return refused
    line = while_successful([command("pm", "path", package), command("pm", "clear", package)])
    answer = shell.run(line, changes_device=True, deadline_seconds=_START_DEADLINE_SECONDS)
    if isinstance(answer, ShellOutput) and answer.exit_code == 1 and not answer.text.strip():
        return _not_installed(package)
    outcome = outcome_of(answer)
    if isinstance(outcome, Done) and "Success" not in outcome.output:
        return Failed(ErrorCode.COMMAND_FAILED, f"{package} was not cleared: {short(outcome.output)}")
    return outcome


def _launcher_activity(shell: Shell, package: str) -> str | Failed:
    refused = _refusal(package)
    if refused is not None:
        return refused
    resolve = command("cmd", "package", "resolve-activity", "--brief", package)
    answer = shell.ask(in_sequence([resolve, command("pm", "path", package)]))
    if isinstance(answer, Failed):
        return answer
    components = _COMPONENT.findall(answer.text.replace("\r", ""))
    if components:
        return components[-1]
    if "package:" in answer.text:
        return Failed(ErrorCode.APP_NOT_LAUNCHABLE, f"{package} is installed, but has no activity for the launcher")
    return _not_installed(package)


def _start(shell: Shell, component: str, *, stop_first: bool) -> Outcome:
    start = command("am", "start", "-n", component)
    stop = command("am", "force-stop", component.partition("/")[0])
    line = while_successful([stop, start]) if stop_first else start
    outcome = outcome_of(shell.run(line, changes_device=True, deadline_seconds=_START_DEADLINE_SECONDS))
    if isinstance(outcome, Failed) and outcome.code is ErrorCode.COMMAND_FAILED:
        return Failed(ErrorCode.APP_NOT_LAUNCHABLE, f"{component} could not be started: {outcome.message}")
    return outcome


def _wait_for_foreground(shell: Shell, package: str) -> Outcome:
    deadline = Deadline(FOREGROUND_DEADLINE_SECONDS)
    while True:
        answer = shell.ask(command("dumpsys", "window"))
        if isinstance(answer, Failed):
            return Failed(answer.code, f"{package} was started, but then: {answer.message}")
        in_front = packages_in_front(answer.text)
        if package in in_front or any(_SYSTEM_QUESTION.search(name) for name in in_front):
            return Done()
        if deadline.is_over:
            return Failed(
                ErrorCode.APP_NOT_LAUNCHABLE,
                f"{package} did not come to the foreground within {deadline.seconds:g} s; "
                f"in front is {', '.join(in_front) or 'nothing'}",
            )
        time.sleep(_FOREGROUND_POLL_SECONDS)


def packages_in_front(dumpsys_window: str) -> list[str]:
    """The packages that `dumpsys window` names as having the focus, without repetition."""
    return list(dict.fromkeys(_FOREGROUND.findall(dumpsys_window)))


def _refusal(package: str) -> Failed | None:
    if _PACKAGE.fullmatch(package):
        return None
    return Failed(ErrorCode.APP_NOT_INSTALLED, f"{short(package)!r} is not the name of a package")


def _not_installed(package: str) -> Failed:
    return Failed(ErrorCode.APP_NOT_INSTALLED, f"{package} is not installed on this device")
