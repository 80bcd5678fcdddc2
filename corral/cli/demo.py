"""`corral demo`: a stack of its own, flows and goals on emulated phones, and three cancels."""

import tempfile
import time
from pathlib import Path

from rich.text import Text

from corral.cli.demo_table import DemoScreen, closing_table
from corral.cli.demo_tasks import REASON, DemoTask, demo_tasks, examples_folder, submit_all
from corral.cli.exit_codes import ExitCode
from corral.cli.output import plain, stderr, stdout
from corral.cli.up import running_stack
from corral.client import Corral
from corral.stack.layout import StackOptions
from corral.stack.stack import Stack
from corral.stack.state_folder import StackFolder
from corral.stack.stop_request import StopAsked

#: Whatever gets lost, a host hears of a cancel within a third of this.
LEASE_SECONDS = 6.0
PHONES = 3
#: All of it takes a few seconds; whatever has not ended by then hangs.
LIMIT_SECONDS = 45.0
_POLL_SECONDS = 0.25


def demo() -> int:
    """Start everything in a folder that is thrown away, run flows and goals, cancel three, and show how all ended."""
    # Without its flows it should end here, and not once a stack has been started for it.
    examples_folder()
    options = StackOptions(port=0, phones=PHONES, lease_seconds=LEASE_SECONDS)
    tasks = demo_tasks()
    with (
        tempfile.TemporaryDirectory(prefix="corral-demo-") as folder,
        running_stack(StackFolder(Path(folder)), options, console=stderr()) as (stack, info),
    ):
        if info is None:
            return ExitCode.INTERRUPTED
        with Corral(info.api_url, info.api_key) as corral:
            try:
                _run(corral, stack, tasks)
            except StopAsked:
                return ExitCode.INTERRUPTED
    return _account(tasks)


def _run(corral: Corral, stack: Stack, tasks: list[DemoTask]) -> None:
    give_up_at = time.monotonic() + LIMIT_SECONDS
    submit_all(corral, tasks, now=time.monotonic())
    with DemoScreen(stdout(), tasks) as screen:
        while not all(task.has_ended for task in tasks) and time.monotonic() < give_up_at:
            stack.look_after()
            for task in tasks:
                _look_at(corral, task, screen)
            screen.refresh()
            time.sleep(_POLL_SECONDS)


def _look_at(corral: Corral, task: DemoTask, screen: DemoScreen) -> None:
    if task.view is None or task.has_ended:
        return
    if task.is_due_for_cancel(now=time.monotonic()):
        corral.cancel(task.view.task_id, reason=REASON)
        task.is_cancel_requested = True
    if task.see(corral.get(task.view.task_id), now=time.monotonic()):
        screen.changed(task)


def _account(tasks: list[DemoTask]) -> ExitCode:
    console = stdout()
    console.print(closing_table(tasks))
    console.print()
    surprises = [task for task in tasks if not task.is_as_expected]
    if surprises:
        for task in surprises:
            name = task.view.name if task.view else task.example
            reason = (task.view.failure_reason if task.view else None) or "see the table"
            console.print(Text.assemble(("Not as expected: ", "bold red"), plain(f"{name}: {reason}")))
        return ExitCode.FAILED
    console.print(Text("All tasks ended as expected.", "green"))
    return ExitCode.OK
