"""When things last ran: jobs at their period, and the API without a gap."""

from collections.abc import Callable, Mapping

from control.operations.plane import Plane
from control.store import job_runs

#: The name under which the API writes down that it accepts renewals.
API = "api"
#: A job this many periods late has nobody who runs it.
OVERDUE_PERIODS = 3


def api_gap_seconds(lease_seconds: float) -> float:
    """A silence of the API longer than this could have cost a host its renewal."""
    return lease_seconds / 2


def record_api_alive(plane: Plane, *, ran_by: str = API) -> None:
    """Write down that renewals are accepted now; due every sixth of a lease."""
    with plane.database.transaction() as tx:
        job_runs.note_alive(tx, API, gap_seconds=api_gap_seconds(plane.timing.lease_seconds), ran_by=ran_by)


def run_if_due(
    plane: Plane, job_name: str, *, period_seconds: float, ran_by: str, operation: Callable[[Plane], int]
) -> int | None:
    """Run the operation unless somebody did within its period; None where it was not due."""
    with plane.database.transaction() as tx:
        if not job_runs.claim_run(tx, job_name, period_seconds=period_seconds, ran_by=ran_by):
            return None
    return operation(plane)


def overdue_jobs(plane: Plane, periods_seconds: Mapping[str, float]) -> list[str]:
    """The jobs that nobody has run for three of their periods."""
    with plane.database.transaction() as tx:
        return job_runs.overdue(tx, {name: OVERDUE_PERIODS * seconds for name, seconds in periods_seconds.items()})
