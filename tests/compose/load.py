"""A load of tasks that knows how each has to end, and that outages do not stop."""

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID, uuid4

from corral.cli.demo_tasks import examples_folder
from corral.cli.flow_files import read_flow
from corral.client import Corral
from corral.client.errors import TaskAlreadyTerminal, Unreachable
from corral.contract.cancellation import CancellationOutcome
from corral.contract.task_status import TaskStatus
from corral.contract.tasks import TaskDetail

Answer = TypeVar("Answer")

#: More than the two phones can work on, so that some always wait.
AT_ONCE = 6
#: Some are running then, some still wait.
CANCELLED_AFTER_SECONDS = 2.0
#: Each outage may cost a task an attempt, and that is no failure of the task.
MAX_ATTEMPTS = 9
POLL_SECONDS = 0.2

KINDS = (
    ("write_a_note", TaskStatus.DONE),
    ("count_for_ever", TaskStatus.CANCELLED),
    ("count_to_five", TaskStatus.DONE),
    ("look_for_a_unicorn", TaskStatus.FAILED),
    ("count_for_ever", TaskStatus.CANCELLED),
)


@dataclass(slots=True)
class Wish:
    """One task that is wanted; it has an id once the API has answered."""

    example: str
    expected: TaskStatus
    key: str = field(default_factory=lambda: str(uuid4()))
    wished_at: float = field(default_factory=time.monotonic)
    view: TaskDetail | None = None
    is_cancel_accepted: bool = False
    #: The API answered the cancel by saying that the task had ended.
    is_too_late: bool = False

    @property
    def has_ended(self) -> bool:
        return self.view is not None and self.view.status.is_terminal

    @property
    def is_due_for_cancel(self) -> bool:
        is_meant = self.expected is TaskStatus.CANCELLED and not self.is_cancel_accepted and not self.is_too_late
        return is_meant and time.monotonic() - self.wished_at >= CANCELLED_AFTER_SECONDS

    @property
    def surprise(self) -> str | None:
        """What is wrong with how it ended; None where nothing is."""
        if self.view is None:
            return f"{self.example}: was never accepted"
        if self.view.status is self.expected:
            return None
        receipt = self.view.cancellation
        is_too_late = self.is_too_late or (receipt and receipt.outcome is CancellationOutcome.TOO_LATE)
        if is_too_late and self.view.status is TaskStatus.DONE:
            return None
        return (
            f"{self.example} {self.view.task_id} is {self.view.status}, not {self.expected}: {self.view.failure_reason}"
        )


class Load:
    """Submits, cancels and looks, a turn at a time, over whichever of the API's addresses answers."""

    def __init__(self, clients: Sequence[Corral]) -> None:
        self.batch_id = f"load-{uuid4()}"
        self.wishes: list[Wish] = []
        self.unanswered = 0
        self._kinds = itertools.cycle(KINDS)
        self._clients = itertools.cycle(clients)
        self._client = next(self._clients)

    def run_until(self, is_enough: Callable[[], bool], *, limit_seconds: float, submits: bool = True) -> None:
        """Go on until it is enough. Raises `TimeoutError` at the limit."""
        give_up_at = time.monotonic() + limit_seconds
        while not is_enough():
            if time.monotonic() > give_up_at:
                raise TimeoutError(f"not within {limit_seconds:g} s; open: {list(self.open())}")
            self._turn(submits=submits)
            time.sleep(POLL_SECONDS)

    def run_for(self, seconds: float) -> None:
        enough_at = time.monotonic() + seconds
        # One call may wait for an API that is away.
        self.run_until(lambda: time.monotonic() >= enough_at, limit_seconds=seconds + 120)

    def open(self) -> list[Wish]:
        return [wish for wish in self.wishes if not wish.has_ended]

    def ended(self) -> int:
        return sum(wish.has_ended for wish in self.wishes)

    def surprises(self) -> list[str]:
        """What is not as it should be, in words: how tasks ended, and tasks that nobody wished for."""
        known = {wish.view.task_id for wish in self.wishes if wish.view}
        found = {task.task_id for task in self._client.list(batch_id=self.batch_id)}
        strange = [f"{task_id} was submitted twice" for task_id in found - known]
        lost = [f"{task_id} is not there any more" for task_id in known - found]
        return [*strange, *lost, *(wish.surprise for wish in self.wishes if wish.surprise)]

    def _turn(self, *, submits: bool) -> None:
        if submits and len(self.open()) < AT_ONCE:
            self.wishes.append(Wish(*next(self._kinds)))
        for wish in self.open():
            if wish.view is None:
                wish.view = self._answer(lambda client, wish=wish: self._submit(client, wish))
            elif wish.is_due_for_cancel:
                self._cancel(wish, wish.view.task_id)
            else:
                wish.view = self._answer(lambda client, view=wish.view: client.get(view.task_id)) or wish.view

    def _submit(self, client: Corral, wish: Wish) -> TaskDetail:
        flow = read_flow(examples_folder() / f"{wish.example}.yaml")
        return client.submit(
            flow.source,
            files=flow.files,
            batch_id=self.batch_id,
            max_attempts=MAX_ATTEMPTS,
            idempotency_key=wish.key,
        )

    def _cancel(self, wish: Wish, task_id: UUID) -> None:
        try:
            wish.is_cancel_accepted = self._answer(lambda client: client.cancel(task_id)) is not None
        except TaskAlreadyTerminal:
            wish.is_too_late = True

    def _answer(self, ask: Callable[[Corral], Answer]) -> Answer | None:
        try:
            return ask(self._client)
        except Unreachable:
            self.unanswered += 1
            self._client = next(self._clients)
            return None
