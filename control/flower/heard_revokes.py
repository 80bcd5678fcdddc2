"""Revokes that were heard here: cancelled at once, or as soon as Postgres takes it."""

import time
from collections import deque
from collections.abc import Callable

import structlog
from sqlalchemy.exc import SQLAlchemyError

from control.flower.commands import Command
from control.flower.fleet import Fleet
from control.operations.plane import Plane
from control.operations.revokes import Revoked, cancel_revoked

log: structlog.stdlib.BoundLogger = structlog.get_logger()

ACTOR = "celery:bridge"
RETRY_SECONDS = 1.0
#: Nobody revokes so often by hand. More than these are not remembered while Postgres is away.
MOST_UNFINISHED = 1_000


class HeardRevokes:
    """For one thread, which calls `retry` every now and then. `on_progress` is called while it works on a long list."""

    def __init__(
        self, plane: Plane, fleet: Fleet, *, name: str, keeps_unknown: bool, on_progress: Callable[[], None]
    ) -> None:
        self._plane = plane
        self._fleet = fleet
        self._name = name
        self._keeps_unknown = keeps_unknown
        self._on_progress = on_progress
        self._unfinished: deque[Command] = deque()
        self._retry_at = 0.0

    def take(self, command: Command) -> str | None:
        """Cancel what the command revokes; answers what became of it, or None where it is for other workers.

        One for workers of a regular expression is taken for all: an id is one task, whoever hears of it.
        """
        try:
            return self._cancel(command)
        except SQLAlchemyError as error:
            self._keep(command, error)
            return "the database does not answer: device tasks are cancelled as soon as it does"

    def retry(self) -> None:
        """Cancel what could not be cancelled when it was heard, if it is time to try again."""
        while self._unfinished and time.monotonic() >= self._retry_at:
            try:
                self._cancel(self._unfinished[0])
            except SQLAlchemyError:
                self._retry_at = time.monotonic() + RETRY_SECONDS
                return
            self._unfinished.popleft()
            if not self._unfinished:
                log.info("revokes.caught_up")

    def _cancel(self, command: Command) -> str | None:
        if command.is_for_some and not command.addressed([self._name, *self._fleet.names()]):
            return None
        is_hard = command.method == "terminate" or bool(command.arguments.get("terminate"))
        revoked = cancel_revoked(
            self._plane,
            command.task_ids,
            actor=ACTOR,
            keeps_unknown=self._keeps_unknown,
            is_hard=is_hard,
            on_progress=self._on_progress,
        )
        if revoked.cancelled or revoked.kept:
            log.info("revokes.heard", cancelled=len(revoked.cancelled), kept=len(revoked.kept))
        return said_of(revoked)

    def _keep(self, command: Command, error: SQLAlchemyError) -> None:
        if len(self._unfinished) >= MOST_UNFINISHED:
            log.error("revokes.lost", task_ids=command.task_ids[:20], error=type(error).__name__)
            return
        if not self._unfinished:
            log.warning("revokes.waiting_for_postgres", error=f"{type(error).__name__}: {error}")
        self._unfinished.append(command)
        self._retry_at = time.monotonic() + RETRY_SECONDS


def said_of(revoked: Revoked) -> str:
    """What a reply tells of revoked ids."""
    return (
        f"device tasks: {len(revoked.cancelled)} cancelled, {len(revoked.settled)} cancelled or ended before,"
        f" {len(revoked.kept)} kept for when they come; {len(revoked.unknown)} are none"
    )
