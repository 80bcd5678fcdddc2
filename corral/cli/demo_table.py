"""How the demo looks: a live table on a terminal, a line for each change elsewhere, and the account at the end."""

from collections.abc import Sequence
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from corral.cli.demo_tasks import CancelWhen, DemoTask
from corral.cli.output import plain
from corral.cli.words import length, progress, seconds_between, status_word
from corral.contract.cancellation import CancellationReceipt
from corral.contract.tasks import TaskDetail

#: The last column may be long; it must not take the room of the others.
_NAME_WIDTH, _STATUS_WIDTH = 20, 10


class DemoScreen:
    """Shows the tasks while they run."""

    def __init__(self, console: Console, tasks: Sequence[DemoTask]) -> None:
        self._console = console
        self._tasks = tasks
        self._live = Live(console=console, refresh_per_second=8, transient=True) if console.is_terminal else None

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def refresh(self) -> None:
        if self._live:
            self._live.update(_running_table(self._tasks))

    def changed(self, task: DemoTask) -> None:
        """Tell of a change where there is no table to see it in."""
        if self._live is None and task.view is not None:
            self._console.print(Text.assemble(plain(f"{task.view.name or '':22}"), " ", status_word(task.view)))


def closing_table(tasks: Sequence[DemoTask]) -> Table:
    """Every task with how it ended; of the cancelled ones, when they were, how long it took and what stopped them."""
    table = _table("TASK", "CANCEL", "STATUS", "EXPECTED", "TOOK", "LATENCY", "STOPPED BY", "")
    for task in tasks:
        if task.view is None:
            continue
        receipt = task.view.cancellation
        table.add_row(
            plain(task.view.name),
            "" if task.cancel_when is CancelWhen.NEVER else task.cancel_when,
            status_word(task.view),
            task.expected,
            length(seconds_between(task.view.created_at, task.view.finished_at)),
            "" if receipt is None else length(seconds_between(receipt.requested_at, receipt.finished_at)),
            _stopped_by(receipt),
            Text("✓", "green") if task.is_as_expected else Text("✗", "bold red"),
        )
    return table


def _running_table(tasks: Sequence[DemoTask]) -> Table:
    table = _table("TASK", "STATUS", "WHAT IT DOES")
    for column, width in zip(table.columns, (_NAME_WIDTH, _STATUS_WIDTH), strict=False):
        column.min_width = width
    for task in tasks:
        if task.view is not None:
            table.add_row(plain(task.view.name), status_word(task.view), plain(_doing(task.view)))
    return table


def _doing(view: TaskDetail) -> str:
    if view.status.is_terminal:
        return view.failure_reason or ""
    return progress(view) or view.waiting_reason or ""


def _stopped_by(receipt: CancellationReceipt | None) -> str:
    return "" if receipt is None or receipt.stopped_by is None else receipt.stopped_by.replace("_", " ")


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(column, no_wrap=True, overflow="ellipsis")
    return table
