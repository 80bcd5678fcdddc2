"""Work that is cheaper together: what arrives while a batch is at work waits, and is the next batch.

    ask ──► waiting ──(nothing at work)──► thread: work(batch) ──► each asker has its answer, and the next batch begins

No timer: an asker who is alone is served at once, and under load the batches grow by themselves.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, NamedTuple, TypeVar

from control.domain.errors import NotReady

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class _Asked(NamedTuple, Generic[Question, Answer]):
    question: Question
    size: int
    answer: asyncio.Future[Answer]


class Coalescer(Generic[Question, Answer]):
    """Has one thread that works on one batch at a time. Ask from one event loop alone.

    Args:
        work: answers a batch, in its order; what it raises is raised to everyone who asked in it.
        max_batch: how much one batch may take, counted in the sizes of its questions; first come, first served.
        max_waiting: more than this waits for nobody: who comes then is told to come again.
    """

    def __init__(
        self, work: Callable[[list[Question]], list[Answer]], *, name: str, max_batch: int, max_waiting: int
    ) -> None:
        self._work = work
        self._name = name
        self._max_batch = max_batch
        self._max_waiting = max_waiting
        self._waiting: deque[_Asked[Question, Answer]] = deque()
        self._waiting_size = 0
        self._at_work: list[_Asked[Question, Answer]] = []
        self._batches: SimpleQueue[list[_Asked[Question, Answer]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def ask(self, question: Question, *, size: int = 1) -> asyncio.Future[Answer]:
        """The answer, once the batch that this question comes into has been worked on.

        Raises:
            NotReady: too much waits already.
        """
        if self._waiting_size + size > self._max_waiting:
            raise NotReady(f"more waits for {self._name} than can be kept; try again in a moment")
        loop = self._loop or self._begin()
        answer: asyncio.Future[Answer] = loop.create_future()
        self._waiting.append(_Asked(question, size, answer))
        self._waiting_size += size
        if not self._at_work:
            self._send_batch()
        return answer

    async def close(self) -> None:
        """Return when all that was asked has been answered; nothing may be asked afterwards."""
        while self._at_work:
            await asyncio.wait([asked.answer for asked in self._at_work])
            await asyncio.sleep(0)
        if self._thread is not None:
            self._batches.put(None)
            await asyncio.to_thread(self._thread.join)

    def _begin(self) -> asyncio.AbstractEventLoop:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work_until_closed, name=self._name, daemon=True)
        self._thread.start()
        return self._loop

    def _send_batch(self) -> None:
        batch: list[_Asked[Question, Answer]] = []
        size = 0
        while self._waiting and (not batch or size + self._waiting[0].size <= self._max_batch):
            batch.append(self._waiting.popleft())
            size += batch[-1].size
        self._waiting_size -= size
        self._at_work = batch
        if batch:
            self._batches.put(batch)

    def _work_until_closed(self) -> None:
        while (batch := self._batches.get()) is not None:
            answers: list[Answer] | Exception
            try:
                answers = self._work([asked.question for asked in batch])
            except Exception as error:  # noqa: BLE001 - it is raised to all who asked
                answers = error
            assert self._loop is not None  # noqa: S101 - there is no thread without it
            self._loop.call_soon_threadsafe(self._answer, batch, answers)

    def _answer(self, batch: list[_Asked[Question, Answer]], answers: list[Answer] | Exception) -> None:
        self._send_batch()
        if isinstance(answers, Exception):
            for asked in batch:
                if not asked.answer.done():
                    asked.answer.set_exception(answers)
            return
        for asked, answer in zip(batch, answers, strict=True):
            if not asked.answer.done():
                asked.answer.set_result(answer)
