"""`corral tasks`, `show`."""

from typing import Annotated
from uuid import UUID

import typer
from rich.text import Text

from corral.cli.connection import connect
from corral.cli.goal_words import goal_facts
from corral.cli.host_names import id_of_host
from corral.cli.options import Json, TaskId, pairs
from corral.cli.output import one_line, plain, print_json, print_table, stderr, stdout
from corral.cli.words import age, instant, labels, length, progress, seconds_between, status_word, steps
from corral.contract.task_status import TaskStatus
from corral.contract.tasks import TaskDetail, TaskView


def tasks(
    context: typer.Context,
    status: Annotated[list[TaskStatus] | None, typer.Option(help="Only these; may be given several times.")] = None,
    cancelling: Annotated[bool, typer.Option("--cancelling", help="Only those with a pending cancel.")] = False,
    label: Annotated[list[str] | None, typer.Option(metavar="K=V", help="Only with this label.")] = None,
    host: Annotated[str | None, typer.Option(metavar="HOST", help="Only on this host, by id or name.")] = None,
    device: Annotated[UUID | None, typer.Option(metavar="DEVICE_ID", help="Only on this device.")] = None,
    batch: Annotated[str | None, typer.Option(metavar="ID", help="Only of this batch.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 50,
    page: Annotated[str | None, typer.Option(metavar="TOKEN", help="Go on where the last page ended.")] = None,
    as_json: Json = False,
) -> None:
    """List tasks, youngest first."""
    with connect(context) as corral:
        found = corral.page(
            statuses=status or [],
            is_cancelling=True if cancelling else None,
            labels=pairs(label or [], option="--label"),
            host_id=None if host is None else id_of_host(corral, host),
            device_id=device,
            batch_id=batch,
            page_token=page,
            limit=limit,
        )
    if as_json:
        print_json(found)
        return
    columns = ("TASK", "STATUS", "AGE", "TOOK", "NAME", "LABELS", "")
    rows = (_row(task) for task in found.tasks)
    print_table(columns, rows, empty="There are no such tasks.", unfolded=columns[:4])
    if found.next_page_token:
        stderr().print(plain(f"There are more: --page {found.next_page_token}"))


def show(context: typer.Context, task_id: TaskId, as_json: Json = False) -> None:
    """Show all about a task, with the story of its cancel request and of its attempts."""
    with connect(context) as corral:
        task = corral.get(task_id)
        if as_json:
            print_json(task)
            return
        attempts = corral.attempts(task_id)
        left_behind = len(corral.artifacts(task_id))
    see_them = f"{left_behind}, see them with: corral artifacts {task_id}" if left_behind else None
    _print_facts(_facts(task) | {"artifacts": see_them})
    if attempts:
        stdout().print()
        print_table(
            ("ATTEMPT", "STATUS", "CLAIMED", "TOOK", "REASON"),
            (
                (
                    str(attempt.attempt),
                    attempt.status,
                    instant(attempt.claimed_at),
                    length(seconds_between(attempt.claimed_at, attempt.finished_at)),
                    attempt.failure_reason,
                )
                for attempt in attempts
            ),
            empty="",
        )


def _row(task: TaskView) -> tuple[Text | str | None, ...]:
    return (
        str(task.task_id),
        status_word(task),
        age(task.created_at),
        length(seconds_between(task.started_at, task.finished_at)),
        one_line(task.name),
        one_line(labels(task.labels)),
        one_line(_remark(task)),
    )


def _remark(task: TaskView) -> str | None:
    if not task.status.is_terminal:
        return progress(task)
    return task.failure_reason if task.status is TaskStatus.FAILED else None


def _facts(task: TaskDetail) -> dict[str, Text | str | None]:
    facts: dict[str, Text | str | None] = {
        "task": str(task.task_id),
        "name": task.name,
        "status": status_word(task),
        "why it waits": task.waiting_reason,
        "progress": progress(task) if not task.status.is_terminal else steps(task),
        "reason": task.failure_reason,
        **goal_facts(task),
        "labels": labels(task.labels),
        "requires": ", ".join(need.describe() for need in task.requires),
        "batch": task.batch_id,
        "created": f"{instant(task.created_at)} by {task.created_by}",
        "started": instant(task.started_at),
        "finished": instant(task.finished_at),
        "attempts": f"{task.attempt} of {task.max_attempts}",
        "host": task.host_id and str(task.host_id),
        "device": task.device_id and str(task.device_id),
    }
    return facts | _receipt(task)


def _receipt(task: TaskDetail) -> dict[str, Text | str | None]:
    receipt = task.cancellation
    if receipt is None:
        return {}
    unconfirmed = ", not confirmed by its host" if receipt.confirmed is False else ""
    return {
        "cancel requested": f"{instant(receipt.requested_at)} by {receipt.requested_by}",
        "cancel reason": receipt.reason,
        "cancel delivered": length(seconds_between(receipt.requested_at, receipt.delivered_at)),
        "cancel seen": length(seconds_between(receipt.requested_at, receipt.seen_at)),
        "cancel finished": length(seconds_between(receipt.requested_at, receipt.finished_at)),
        "cancel outcome": f"{receipt.outcome}{unconfirmed}",
        "stopped by": receipt.stopped_by,
    }


def _print_facts(facts: dict[str, Text | str | None]) -> None:
    width = max(map(len, facts)) + 2
    for name, value in facts.items():
        if value:
            # What has lines of its own goes on in the same column.
            shown = value if isinstance(value, Text) else plain(value.rstrip().replace("\n", "\n" + " " * width))
            stdout().print(Text.assemble((name.ljust(width), "dim"), shown))
