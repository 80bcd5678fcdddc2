"""What the process ends with, for scripts."""

from enum import IntEnum

from corral.contract.task_status import TaskStatus


class ExitCode(IntEnum):
    OK = 0
    #: The task that was waited for failed; or a part of Corral could not be started.
    FAILED = 1
    #: The command line cannot be understood, or a file that it names cannot be read.
    USAGE = 2
    #: The task that was waited for was cancelled.
    CANCELLED = 3
    #: The API said no: a 4xx, told on stderr.
    REFUSED = 4
    #: The API did not answer, or was in trouble itself.
    UNREACHABLE = 5
    #: Ctrl-C.
    INTERRUPTED = 130


HELP = (
    "Exit codes: 0 ok · 1 the task failed · 2 wrong usage · 3 the task was cancelled · "
    "4 refused by the API · 5 API not reachable · 130 interrupted"
)
HELP_OF_PARTS = (
    "Exit codes: 0 ended in order · 1 failed · 2 settings are missing or wrong · of a host also: "
    "3 its state folder is in use · 4 a later process of this host has taken over · 5 adb cannot be started"
)

_OF_STATUS = {
    TaskStatus.DONE: ExitCode.OK,
    TaskStatus.FAILED: ExitCode.FAILED,
    TaskStatus.CANCELLED: ExitCode.CANCELLED,
}


def exit_code_of(status: TaskStatus) -> ExitCode:
    """How a command that waited for a task ends, by the task's last status."""
    return _OF_STATUS[status]
