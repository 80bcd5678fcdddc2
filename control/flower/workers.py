"""The roll call: which hosts are there, under which names, and the heartbeats that they are shown by."""

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any
from uuid import UUID

from celery.events import event  # pyright: ignore[reportMissingTypeStubs] - Celery has no types

from control.flower.events import CeleryEvent
from control.operations.fleet_workers import (
    QUEUE_WORKER,
    REAPER_WORKER,
    FinishedCounts,
    WorkerView,
    hosts_as_workers,
    worker_names,
)
from control.operations.plane import Plane

#: A consumer takes a worker for offline after twice this time without a word: longer than another bridge takes to take
#: over, and than Redis takes to be restarted. A host that is gone is told of at once.
HEARTBEAT_SECONDS = 30.0

_celery_events: Any = event
_SYSTEM = (QUEUE_WORKER, REAPER_WORKER)


class RollCall:
    """Who is online, as this bridge has told it. For one thread."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._finished = FinishedCounts()
        self._names: dict[UUID, str] = {}
        self._online: frozenset[str] = frozenset()
        self._away: list[str] = []

    def look(self) -> list[CeleryEvent]:
        """Look at the fleet: who left, who came, and then a heartbeat of each that is there."""
        hosts = hosts_as_workers(self._plane, finished=self._finished)
        self._names = {host.host_id: host.name for host in hosts}
        self._away = [host.name for host in hosts if not host.is_online]
        there = {host.name: _vitals(host) for host in hosts if host.is_online}
        there |= {name: _system_vitals() for name in _SYSTEM}
        left = self._online - set(there)
        came = set(there) - self._online
        self._online = frozenset(there)
        return [
            *(_worker("worker-offline", name, {}) for name in sorted(left)),
            *(_worker("worker-online", name, vitals) for name, vitals in there.items() if name in came),
            *(_worker("worker-heartbeat", name, vitals) for name, vitals in there.items()),
        ]

    def all_who_are_known(self) -> list[CeleryEvent]:
        """The same for whoever has not heard of it yet, or missed some of it."""
        self._online = frozenset()
        told = self.look()
        return [*(_worker("worker-offline", name, {}) for name in self._away), *told]

    def knows(self, host_ids: Iterable[UUID]) -> bool:
        """Whether there was a look, and the last one has seen all of these hosts online."""
        return bool(self._online) and all(self._names.get(host_id) in self._online for host_id in host_ids)

    def learn_names(self, host_ids: Iterable[UUID]) -> None:
        """Ask for the names of hosts that are gone, too, and that something is yet to be told of."""
        unknown = set(host_ids) - set(self._names)
        if unknown:
            self._names |= worker_names(self._plane, unknown)

    def name(self, host_id: UUID) -> str:
        return self._names.get(host_id, str(host_id))

    def still_away(self, events: Iterable[CeleryEvent]) -> list[CeleryEvent]:
        """What is to be said after these events: each has made the worker that it names look alive."""
        away = {event["hostname"] for event in events} - self._online
        return [_worker("worker-offline", name, {}) for name in sorted(away)]


def _worker(event_type: str, name: str, vitals: Mapping[str, Any]) -> CeleryEvent:
    # Dated by Celery, as its own workers' are; consumers go by when they heard it.
    return _celery_events.Event(event_type, hostname=name, freq=HEARTBEAT_SECONDS, sw_ident="corral", **vitals)


def _vitals(host: WorkerView) -> dict[str, Any]:
    return {"active": host.active, "processed": host.finished, "sw_ver": host.version}


def _system_vitals() -> dict[str, Any]:
    return {"active": 0, "processed": 0, "sw_ver": version("corral")}
