"""How facts look to a person: statuses with their colours, lengths of time, instants."""

from datetime import UTC, datetime

from rich.text import Text

from corral.contract.task_status import TaskStatus
from corral.contract.tasks import TaskView

_STYLES = {
    TaskStatus.QUEUED: "dim",
    TaskStatus.ASSIGNED: "blue",
    TaskStatus.DISPATCHED: "bold blue",
    TaskStatus.DONE: "green",
    TaskStatus.FAILED: "bold red",
    TaskStatus.CANCELLED: "yellow",
}
_MINUTE_SECONDS = 60
_HOUR_SECONDS = 3600
_DAY_SECONDS = 86_400
_KILOBYTE_BYTES = 1000


def status_word(task: TaskView) -> Text:
    """The status; `cancelling` where a cancel is pending, for that is what a person wants to know."""
    if task.is_cancelling:
        return Text("cancelling", "bold magenta")
    return Text(task.status, _STYLES[task.status])


def seconds_between(begin: datetime | None, finish: datetime | None) -> float | None:
    return None if begin is None or finish is None else (finish - begin).total_seconds()


def length(seconds: float | None) -> str:
    """`0.84 s`, `12.3 s`, `4 min 05 s`, `2 h 10 min`; nothing for nothing."""
    if seconds is None:
        return ""
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < _MINUTE_SECONDS:
        return f"{seconds:.1f} s"
    if seconds < _HOUR_SECONDS:
        return f"{int(seconds // 60)} min {int(seconds % 60):02} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60):02} min"


def size(size_bytes: int) -> str:
    """`512 B`, `20.0 kB`, `3.1 MB`."""
    if size_bytes < _KILOBYTE_BYTES:
        return f"{size_bytes} B"
    if size_bytes < _KILOBYTE_BYTES**2:
        return f"{size_bytes / _KILOBYTE_BYTES:.1f} kB"
    return f"{size_bytes / _KILOBYTE_BYTES**2:.1f} MB"


def age(since: datetime | None) -> str:
    """`12 s`, `3 min`, `2 h`, `5 d`, by this machine's clock: for lists, where the exact instant is too long."""
    if since is None:
        return ""
    now = datetime.now(UTC)  # noqa: TID251 - shown to a person, and decides nothing
    seconds = max((now - since).total_seconds(), 0)
    for unit, unit_seconds in (("d", _DAY_SECONDS), ("h", _HOUR_SECONDS), ("min", _MINUTE_SECONDS)):
        if seconds >= unit_seconds:
            return f"{int(seconds // unit_seconds)} {unit}"
    return f"{int(seconds)} s"


def instant(at: datetime | None) -> str:
    return "" if at is None else at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def labels(values: dict[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in sorted(values.items()))


def steps(task: TaskView) -> str:
    """`step 3 of 9`."""
    if task.progress is None or not task.progress.step:
        return ""
    of = f" of {task.progress.steps_total}" if task.progress.steps_total else ""
    return f"step {task.progress.step}{of}"


def progress(task: TaskView) -> str:
    """`step 3 of 9: Tap on "Login"`."""
    counted = steps(task)
    return f"{counted}: {task.progress.text}" if counted and task.progress and task.progress.text else counted
