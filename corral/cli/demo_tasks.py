"""What the demo submits, which of it is cancelled when, and how each is expected to end."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from corral.cli.failures import CommandFailed
from corral.cli.flow_files import read_flow
from corral.client import Corral
from corral.contract.goals import AgentOptions
from corral.contract.task_status import TaskStatus
from corral.contract.tasks import Requirement, TaskDetail, TaskView

#: A person should see a task wait, or run, before it is cancelled.
SHOWN_BEFORE_CANCEL_SECONDS = 2.0
BATCH = "demo"
REASON = "shown in the demo"


class CancelWhen(StrEnum):
    NEVER = "never"
    QUEUED = "queued"
    RUNNING = "running"


@dataclass(slots=True)
class DemoTask:
    """One task of the demo; `view` is how it was seen last. `example` is a flow, or the script for a `goal`."""

    example: str
    expected: TaskStatus
    cancel_when: CancelWhen = CancelWhen.NEVER
    goal: str | None = None
    verify: str | None = None
    requires: list[Requirement] = field(default_factory=list[Requirement])
    view: TaskDetail | None = None
    in_status_since: float | None = None
    is_cancel_requested: bool = False

    def see(self, view: TaskDetail, *, now: float) -> bool:
        """Take the newest view; answers whether its status or pending cancel has changed."""
        has_changed = self.view is None or _state(view) != _state(self.view)
        if has_changed:
            self.in_status_since = now
        self.view = view
        return has_changed

    def is_due_for_cancel(self, *, now: float) -> bool:
        """Whether it has been shown for a while in the state in which it is to be cancelled."""
        if self.view is None or self.is_cancel_requested or self.in_status_since is None:
            return False
        wanted = {CancelWhen.QUEUED: TaskStatus.QUEUED, CancelWhen.RUNNING: TaskStatus.DISPATCHED}
        is_there = self.view.status is wanted.get(self.cancel_when)
        return is_there and now - self.in_status_since >= SHOWN_BEFORE_CANCEL_SECONDS

    @property
    def has_ended(self) -> bool:
        return self.view is not None and self.view.status.is_terminal

    @property
    def is_as_expected(self) -> bool:
        """It ended as expected; a cancelled one at the moment it was meant for."""
        if self.view is None or self.view.status is not self.expected:
            return False
        return self.cancel_when is CancelWhen.NEVER or (self.view.attempt > 0) == (
            self.cancel_when is CancelWhen.RUNNING
        )


def demo_tasks() -> list[DemoTask]:
    """More than there are phones, so that some wait; the long one first, so that it runs all the time."""
    nobody = Requirement(label="colour", value="ultramarine")
    return [
        DemoTask("count_for_ever", TaskStatus.CANCELLED, CancelWhen.RUNNING),
        DemoTask("write_a_note", TaskStatus.CANCELLED, CancelWhen.QUEUED, requires=[nobody]),
        DemoTask("write_a_note", TaskStatus.DONE),
        DemoTask("read_the_library", TaskStatus.DONE),
        DemoTask("count_to_five", TaskStatus.DONE),
        DemoTask("wait_for_statistics", TaskStatus.DONE),
        DemoTask("look_for_a_unicorn", TaskStatus.FAILED),
        DemoTask(
            "goals/write_a_note",
            TaskStatus.DONE,
            goal="Note the waves\nWrite a note that says to count the waves, with all five fields filled in.",
            verify='visible: "Latest: Count the waves"',
        ),
        DemoTask(
            "goals/count_sheep", TaskStatus.CANCELLED, CancelWhen.RUNNING, goal="Fall asleep\nCount sheep until you do."
        ),
    ]


def submit_all(corral: Corral, tasks: list[DemoTask], *, now: float) -> None:
    """Hand over all tasks, in order."""
    folder = examples_folder()
    for task in tasks:
        task.see(_submit(corral, task, folder / f"{task.example}.yaml"), now=now)


def _submit(corral: Corral, task: DemoTask, example: Path) -> TaskDetail:
    if task.goal is None:
        flow = read_flow(example)
        return corral.submit(flow.source, files=flow.files, requires=task.requires, batch_id=BATCH)
    agent = AgentOptions(script=example.read_text(encoding="utf-8"))
    return corral.submit(goal=task.goal, verify=task.verify, agent=agent, requires=task.requires, batch_id=BATCH)


def examples_folder() -> Path:
    """The flows that come with Corral. Raises `CommandFailed` where they were not installed."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "examples", package.parent / "examples"):
        if folder.is_dir():
            return folder
    raise CommandFailed("the demo's flows are not here: run it from a checkout of Corral")


def _state(view: TaskView) -> tuple[TaskStatus, bool]:
    return view.status, view.is_cancelling
