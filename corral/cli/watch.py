"""`corral watch`: a task shown until it has ended."""

import time
from typing import Self
from uuid import UUID

import typer
from rich.console import Console
from rich.status import Status
from rich.text import Text

from corral.cli.connection import connect
from corral.cli.exit_codes import ExitCode, exit_code_of
from corral.cli.goal_words import outcome
from corral.cli.options import Json, TaskId, WaitLimit
from corral.cli.output import plain, print_json, stderr, stdout
from corral.cli.words import length, progress, seconds_between, status_word
from corral.client import Corral, WaitTimedOut
from corral.contract.history import TaskEventKind, TaskEventView
from corral.contract.task_status import TaskStatus
from corral.contract.tasks import TaskDetail

_POLL_SECONDS = 0.3


def watch(context: typer.Context, task_id: TaskId, limit_seconds: WaitLimit = None, as_json: Json = False) -> int:
    """Show a task live until it has ended: 0 done, 1 failed, 3 cancelled."""
    with connect(context) as corral:
        return follow(corral, task_id, as_json=as_json, limit_seconds=limit_seconds)


def follow(corral: Corral, task_id: UUID, *, as_json: bool, limit_seconds: float | None = None) -> ExitCode:
    """Wait for the task and show what happens to it; the exit code says how it ended."""
    task = wait_for_end(corral, task_id, as_json=as_json, limit_seconds=limit_seconds)
    if as_json:
        print_json(task)
    else:
        stdout().print(closing_line(task))
        for name, value in outcome(task).items():
            if value:
                stdout().print(plain(f"{name}: {value}"))
    return exit_code_of(task.status)


def wait_for_end(corral: Corral, task_id: UUID, *, as_json: bool, limit_seconds: float | None) -> TaskDetail:
    """The ended task. Ctrl-C ends the waiting and not the task, and says so."""
    try:
        if as_json:
            return corral.wait(task_id, timeout_seconds=limit_seconds)
        return _show_until_end(corral, task_id, limit_seconds)
    except KeyboardInterrupt:
        if not as_json:
            stderr().print(f"\nTask {task_id} goes on. Cancel it with: corral cancel {task_id}")
        raise


def closing_line(task: TaskDetail) -> Text:
    """How it ended, in one line."""
    took = length(seconds_between(task.created_at, task.finished_at))
    line = Text.assemble(status_word(task), f" after {took}")
    if task.failure_reason and task.status is TaskStatus.FAILED:
        line.append(": ").append_text(plain(task.failure_reason))
    if task.cancellation and task.cancellation.finished_at:
        latency = length(seconds_between(task.cancellation.requested_at, task.cancellation.finished_at))
        line.append(f", {latency} after the cancel request ({task.cancellation.outcome})")
    return line


def _show_until_end(corral: Corral, task_id: UUID, limit_seconds: float | None) -> TaskDetail:
    console = stderr()
    give_up_at = None if limit_seconds is None else time.monotonic() + limit_seconds
    last_event_id = 0
    with _Line(console) as line:
        while True:
            # In this order the last look at the events is younger than the end of the task.
            task = corral.get(task_id)
            for event in corral.events(task_id, after=last_event_id):
                last_event_id = event.event_id
                console.print(_event_line(event))
            if task.status.is_terminal:
                return task
            line.show(task)
            if give_up_at is not None and limit_seconds is not None and time.monotonic() > give_up_at:
                raise WaitTimedOut(task_id, limit_seconds)
            time.sleep(_POLL_SECONDS)


def _event_line(event: TaskEventView) -> Text:
    # Ids are for programs and in `show`; why it failed is in the line that closes.
    skipped = {"host_id", "device_id", "lease_id", *(["reason"] if event.kind is TaskEventKind.FAILED else [])}
    details = [f"{key}={value}" for key, value in event.details.items() if value is not None and key not in skipped]
    actor = "its host" if event.actor.startswith("host:") else event.actor
    at = event.at.astimezone().strftime("%H:%M:%S.%f")[:-3]
    return Text.assemble((at, "dim"), f" {event.kind} ", (plain(" ".join([f"by {actor}", *details])).plain, "dim"))


class _Line:
    """The step that runs now: a line that changes on a terminal, a line each elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = ""
        self._status = Status("", console=console) if console.is_terminal else None

    def __enter__(self) -> Self:
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def show(self, task: TaskDetail) -> None:
        step = progress(task)
        if self._status:
            self._status.update(Text.assemble(status_word(task), " ", plain(step or task.waiting_reason or "")))
        elif step and step != self._last:
            self._console.print(plain(step))
        self._last = step
