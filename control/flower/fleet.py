"""The fleet as it is asked about: looked at once for everybody who asks within a second."""

import time
from collections.abc import Mapping
from typing import Any

from control.flower.inspections import Inspected, inspected_fleet
from control.jobs.celery_app import CeleryApp
from control.operations.fleet_workers import (
    QUEUE_WORKER,
    REAPER_WORKER,
    FinishedCounts,
    WorkerView,
    fleet_as_workers,
    queued_tasks,
)
from control.operations.plane import Plane

#: Flower's page of a worker asks eight questions at once.
GOOD_FOR_SECONDS = 1.0
#: Of the queue, the youngest: more would be in nobody's view.
QUEUED_SHOWN = 200
_SHOWN_OF_BROKER = ("transport", "hostname", "port", "virtual_host")


class Fleet:
    """For one thread."""

    def __init__(self, app: CeleryApp, plane: Plane) -> None:
        self._plane = plane
        self._finished = FinishedCounts()
        with app.connection_for_read() as connection:
            said = connection.info()
        self._broker: Mapping[str, Any] = {name: said[name] for name in _SHOWN_OF_BROKER}
        self._looked_at = float("-inf")
        self._hosts: list[WorkerView] = []
        self._asked: Mapping[str, Inspected] = {}

    def names(self) -> list[str]:
        """The names of all workers, offline ones too."""
        self._look()
        return [*(host.name for host in self._hosts), QUEUE_WORKER, REAPER_WORKER]

    def asked(self) -> Mapping[str, Inspected]:
        """The workers that answer, by name: hosts that are online, and those that stand for the control plane."""
        self._look()
        return self._asked

    def _look(self) -> None:
        if time.monotonic() - self._looked_at < GOOD_FOR_SECONDS:
            return
        self._hosts = fleet_as_workers(self._plane, finished=self._finished)
        queued = queued_tasks(self._plane, limit=QUEUED_SHOWN)
        self._asked = inspected_fleet([host for host in self._hosts if host.is_online], queued, broker=self._broker)
        self._looked_at = time.monotonic()
