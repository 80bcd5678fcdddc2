"""What an API process does unasked: it shows that it lives, forgets who was revoked, and runs sweeps that nobody else
runs any more.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

import structlog
from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from control.jobs.schedule import ScheduledJob
from control.metrics import SWEEPS_RUN_BY_API
from control.operations.cadence import overdue_jobs, record_api_alive, run_if_due
from control.operations.cancels import CancelsNotTold
from control.operations.keys import lately_revoked
from control.operations.plane import Plane
from control.signals.tokens import HEARING_SECONDS

log: structlog.stdlib.BoundLogger = structlog.get_logger()

#: Six signs of life in a lease: the reaper tells a gap from a slow moment.
SIGNS_PER_LEASE = 6
#: How often a process looks whether beat and the jobs still run. A job is overdue after three of its periods.
WATCH_SECONDS = 2.0
#: The parts of Corral start together: beat's first ticks come before anybody takes it for dead.
GRACE_SECONDS = 6.0
#: How often a process looks for revocations: what one costs at most of which no word has come.
REVOKED_SECONDS = 5.0
RAN_BY = "api"


async def show_life(plane: Plane, *, is_renewing: Callable[[], Awaitable[object]]) -> None:
    """Record that this API serves its hosts, until cancelled. `is_renewing` answers while renewals are."""

    async def sign() -> None:
        # By way of the threads that renewals, heartbeats and reports use: an API in which they hang shows no life.
        await is_renewing()
        await run_sync(record_api_alive, plane)

    await _repeat(sign, "show_life", plane.timing.lease_seconds / SIGNS_PER_LEASE)


async def drop_revoked(plane: Plane, drop: Callable[[str], None]) -> None:
    """Have `drop` called once with the name of each lately revoked token, until cancelled: its word may be lost."""
    dropped: frozenset[str] = frozenset()

    async def look() -> None:
        nonlocal dropped
        # What was verified longer ago than this is not believed any more.
        revoked = await run_sync(lambda: lately_revoked(plane, within_seconds=HEARING_SECONDS))
        for token_id in revoked - dropped:
            drop(token_id)
        dropped = revoked

    await _repeat(look, "drop_revoked", REVOKED_SECONDS)


async def watch_sweeps(plane: Plane, sweeps: Sequence[ScheduledJob]) -> None:
    """Run the sweeps that are overdue, until cancelled: tasks go on when beat or the jobs are dead."""
    limiter = CapacityLimiter(1)
    for sweep in sweeps:
        # Shown as 0 before the first of them is overdue.
        SWEEPS_RUN_BY_API.labels(sweep.name)
    await asyncio.sleep(GRACE_SECONDS)
    await _repeat(lambda: run_sync(run_overdue, plane, sweeps, limiter=limiter), "watch_sweeps", WATCH_SECONDS)


def run_overdue(plane: Plane, sweeps: Sequence[ScheduledJob]) -> list[str]:
    """Run each sweep that is overdue, and answer their names."""
    overdue = set(overdue_jobs(plane, {sweep.name: sweep.period_seconds for sweep in sweeps}))
    return [sweep.name for sweep in sweeps if sweep.name in overdue and _run(plane, sweep)]


def _run(plane: Plane, sweep: ScheduledJob) -> bool:
    period, operation = sweep.period_seconds, sweep.operation
    try:
        changed = run_if_due(plane, sweep.name, period_seconds=period, ran_by=RAN_BY, operation=operation)
    except CancelsNotTold as reason:
        log.warning("sweep.to_be_repeated", job=sweep.name, reason=str(reason))
        return False
    except Exception:
        # One sweep that fails must not keep the others from running.
        log.exception("sweep.failed", job=sweep.name)
        return False
    if changed is None:
        return False
    SWEEPS_RUN_BY_API.labels(sweep.name).inc()
    log.warning("sweep.was_overdue", job=sweep.name, period_seconds=period, changed=changed)
    return True


async def _repeat(work: Callable[[], Awaitable[object]], name: str, period_seconds: float) -> None:
    is_failing = False
    while True:
        started = time.monotonic()
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - Postgres comes back; the keeper must be there then
            if not is_failing:
                # The first line: SQLAlchemy adds the statement to what the driver said.
                said = str(error).partition("\n")[0]
                log.warning("keeper.failing", keeper=name, error=f"{type(error).__name__}: {said}")
            is_failing = True
        else:
            if is_failing:
                log.info("keeper.recovered", keeper=name)
            is_failing = False
        await asyncio.sleep(max(0.05, period_seconds - (time.monotonic() - started)))
