"""One slot for each device: taken from the claim until the run has settled and its report was acknowledged."""

import asyncio
from collections.abc import Callable

import structlog

from workers.assignment.execution import ClaimedAssignment
from workers.assignment.guard import LeaseGuard, StopReason
from workers.assignment.runner import ActiveAssignmentRunner
from workers.metrics import RUNNING

MakeRunner = Callable[[ClaimedAssignment], ActiveAssignmentRunner]

log = structlog.get_logger()


class Slots:
    """Runs assignments, at most one on each device; `on_free` is called when a device can be offered again."""

    def __init__(self, make_runner: MakeRunner, *, on_free: Callable[[], None]) -> None:
        self._make_runner = make_runner
        self._on_free = on_free
        self._runners: dict[str, ActiveAssignmentRunner] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._end: Callable[[LeaseGuard], None] = lambda _guard: None

    @property
    def busy_serials(self) -> frozenset[str]:
        return frozenset(self._runners)

    def take(self, claimed: ClaimedAssignment) -> None:
        """Start an assignment on its device. The device must be free: only free ones are offered."""
        serial = claimed.assignment.device_serial
        log.info(
            "task.dispatched",
            task_id=str(claimed.assignment.task_id),
            attempt=claimed.assignment.attempt,
            lease_id=str(claimed.lease_id),
            device=serial,
        )
        runner = self._make_runner(claimed)
        self._end(runner.guard)
        if serial in self._runners:
            # Two runs on one phone are worse than a failed attempt; the report says why.
            runner.guard.lose(StopReason.DEVICE_BUSY)
            log.error("assignment.device_busy", device=serial, lease_id=str(claimed.lease_id))
            serial = f"{serial} {claimed.lease_id}"
        self._runners[serial] = runner
        RUNNING.inc()
        self._idle.clear()
        task = asyncio.create_task(self._run(serial, runner), name=f"assignment-{claimed.lease_id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stop_all(self, reason: StopReason) -> None:
        """Runs end at their next boundary and may clean up; so do those that the reports of others still bring."""
        self._end_all(lambda guard: guard.stop(reason))

    def lose_all(self, reason: StopReason) -> None:
        """Runs end, and touch no device again; nor do those that the reports of others still bring."""
        self._end_all(lambda guard: guard.lose(reason))

    def _end_all(self, end: Callable[[LeaseGuard], None]) -> None:
        self._end = end
        for runner in self._runners.values():
            end(runner.guard)

    async def wait_until_idle(self) -> None:
        await self._idle.wait()

    async def _run(self, slot: str, runner: ActiveAssignmentRunner) -> None:
        try:
            await runner.run()
        except Exception:  # the boundary of a slot: the other devices go on
            log.exception("assignment.crashed", slot=slot)
        finally:
            # In one go: neither the claims nor a drain may find the device free in between.
            del self._runners[slot]
            RUNNING.dec()
            for claimed in runner.following:
                self.take(claimed)
            if not self._runners:
                self._idle.set()
            self._on_free()
