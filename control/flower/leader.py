"""The rounds of a bridge: seek the lead, and while it is held, do in turn what only the leader does."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog
from kombu.exceptions import OperationalError  # pyright: ignore[reportMissingTypeStubs] - kombu has no types
from sqlalchemy.exc import SQLAlchemyError

from control.flower.leadership import Leadership
from control.flower.metrics import FEED_LAG_SECONDS, IS_LEADER
from control.flower.outages import Outages
from control.flower.reconciliation import reconcile_revokes
from control.flower.results import ResultPublisher
from control.flower.snapshot import Requests
from control.flower.stream import EventStream, NobodyTold
from control.flower.telling import Telling
from control.jobs.celery_app import CeleryApp
from control.operations.plane import Plane
from control.store.database import DATABASE_AWAY

log = structlog.get_logger()

HEARTBEATS_APART_SECONDS = 3.0
RESULTS_APART_SECONDS = 0.2
POSITIONS_APART_SECONDS = 1.0
RECONCILE_APART_SECONDS = 30.0
#: What is away stays so for a while.
PAUSE_SECONDS = 0.5
PAUSE_AFTER_FAILURE_SECONDS = 5.0


@dataclass
class Duty:
    """Something to be done over and over again."""

    name: str
    do: Callable[[], object]
    apart_seconds: float = 0.0
    due_at: float = 0.0


class Leader:
    """Goes round and round in one thread; no error ends it."""

    def __init__(
        self,
        plane: Plane,
        leadership: Leadership,
        stream: EventStream,
        requests: Requests,
        *,
        app: CeleryApp,
        results_app: CeleryApp | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._plane = plane
        self._leadership = leadership
        self._stream = stream
        self._requests = requests
        self._app = app
        self._results_app = results_app
        self._clock = clock
        self._outages = Outages(clock=clock)
        self._not_before = 0.0
        #: Of a leader; a new one for each term.
        self._telling: Telling | None = None
        self._duties: list[Duty] = []
        self._term: int | None = None
        self._waits_since: float | None = None
        self._follows = False

    def go_round(self) -> None:
        """Do what is due."""
        if self._clock() < self._not_before:
            return
        try:
            self._leadership.seek()
            self._outages.end("postgres")
            self._take_or_leave_the_lead()
            for duty in self._duties:
                self._see_to(duty)
        except SQLAlchemyError as trouble:
            self._pause("postgres", getattr(trouble, "orig", None) or trouble)
        except (NobodyTold, OperationalError) as trouble:
            self._pause("redis", trouble)

    def stop(self) -> None:
        """Note how far it came, and let another lead."""
        try:
            if self._telling is not None and self._leadership.is_held:
                self._telling.note_position()
        except SQLAlchemyError as trouble:
            self._outages.begin("postgres", trouble)
        finally:
            self._drop()
            self._leadership.resign()
            self._stream.close()

    def _take_or_leave_the_lead(self) -> None:
        term = self._leadership.term
        if term is None or (self._telling is not None and term != self._term):
            self._follow()
        if term is not None and self._telling is None:
            self._telling, self._term = Telling(self._plane, self._stream, self._requests), term
            self._duties = self._duties_of(self._telling)
            self._follows = False
            IS_LEADER.set(1)
            log.info("bridge.leads")

    def _follow(self) -> None:
        self._drop()
        if not self._follows:
            self._follows = True
            log.info("bridge.follows")

    def _drop(self) -> None:
        self._telling, self._term, self._duties = None, None, []
        IS_LEADER.set(0)
        FEED_LAG_SECONDS.set(0)

    def _duties_of(self, telling: Telling) -> list[Duty]:
        duties = [
            Duty("snapshot", telling.answer_requests),
            Duty("events", lambda: self._tell_events(telling)),
            Duty("reconcile", self._reconcile, RECONCILE_APART_SECONDS),
            Duty("heartbeats", lambda: self._tell_heartbeats(telling), HEARTBEATS_APART_SECONDS),
            Duty("position", telling.note_position, POSITIONS_APART_SECONDS),
        ]
        if self._results_app is not None:
            publisher = ResultPublisher(self._results_app, self._plane)
            duties.append(Duty("results", publisher.publish, RESULTS_APART_SECONDS))
        return duties

    def _see_to(self, duty: Duty) -> None:
        if self._clock() < duty.due_at or not self._leadership.is_held:
            return
        duty.due_at = self._clock() + duty.apart_seconds
        try:
            duty.do()
        except (*DATABASE_AWAY, NobodyTold, OperationalError):
            duty.due_at = 0.0
            raise
        except Exception:
            # One duty that cannot be done must not keep the others from being done.
            log.exception("bridge.duty_failed", duty=duty.name)
            duty.due_at = self._clock() + PAUSE_AFTER_FAILURE_SECONDS

    def _tell_events(self, telling: Telling) -> None:
        telling.tell_events()
        now = self._clock()
        self._waits_since = (self._waits_since or now) if telling.is_waiting else None
        FEED_LAG_SECONDS.set(now - self._waits_since if self._waits_since else 0)

    def _tell_heartbeats(self, telling: Telling) -> None:
        telling.tell_heartbeats()
        self._outages.end("redis")

    def _reconcile(self) -> None:
        reconcile_revokes(self._app, self._plane, keeps_unknown=self._results_app is not None)

    def _pause(self, what: str, trouble: BaseException) -> None:
        self._outages.begin(what, trouble)
        self._not_before = self._clock() + PAUSE_SECONDS
        if not self._leadership.is_held:
            self._follow()
