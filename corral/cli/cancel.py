"""`corral cancel`."""

from typing import Annotated

import typer
from rich.text import Text

from corral.cli.connection import connect
from corral.cli.exit_codes import ExitCode
from corral.cli.options import Json, TaskId, WaitLimit
from corral.cli.output import print_json, stdout
from corral.cli.watch import closing_line, wait_for_end
from corral.contract.cancellation import StoppedBy, TaskCancellationResponse
from corral.contract.task_status import TaskStatus


def cancel(
    context: typer.Context,
    task_id: TaskId,
    reason: Annotated[str | None, typer.Option(help="For people; shown and kept.")] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Until it has ended: 0 if cancelled, 1 if it was too late.")
    ] = False,
    limit_seconds: WaitLimit = None,
    as_json: Json = False,
) -> int:
    """Ask for a task to be stopped. The request is never lost; asking twice changes nothing."""
    with connect(context) as corral:
        response = corral.cancel(task_id, reason=reason)
        if not wait:
            _show_response(response, as_json=as_json)
            return ExitCode.OK
        task = wait_for_end(corral, task_id, as_json=as_json, limit_seconds=limit_seconds)
    if as_json:
        print_json(task)
    else:
        stdout().print(closing_line(task))
    return ExitCode.OK if task.status is TaskStatus.CANCELLED else ExitCode.FAILED


def _show_response(response: TaskCancellationResponse, *, as_json: bool) -> None:
    if as_json:
        print_json(response)
    elif response.status.is_terminal:
        has_run = response.cancellation.stopped_by not in (None, StoppedBy.BEFORE_START)
        stdout().print(
            Text.assemble((response.status, "yellow"), ": it had stopped before" if has_run else ": it will not run")
        )
    else:
        waiting = f": its host is being told; it is still {response.status}. Follow it with: corral watch "
        stdout().print(Text.assemble(("cancelling", "bold magenta"), waiting, str(response.task_id)))
