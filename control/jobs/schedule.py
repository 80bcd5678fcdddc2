"""The one table of jobs: what runs, how often, on which queue, and why so."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from control.operations.assign import assign_tasks, fail_impatient_tasks
from control.operations.cancels import reconcile_cancels, settle_cancels
from control.operations.front_door import cancel_expired_tasks
from control.operations.hosts import mark_silent_hosts_offline
from control.operations.plane import Job, Plane, Timing
from control.operations.purge import purge
from control.operations.reap import reap_expired_leases, release_unclaimed_assignments

#: A tick that was not taken for two periods is worthless, the next ones have overtaken it; but the clocks of two
#: machines may differ by seconds, and a short limit would then drop every tick.
SHORTEST_EXPIRY_SECONDS = 10.0


class JobQueue(StrEnum):
    """`reap` is separate, so that no amount of other work delays the end of a lost lease."""

    JOBS = "jobs"
    REAP = "reap"


@dataclass(frozen=True, slots=True)
class ScheduledJob:
    name: str
    queue: JobQueue
    period_seconds: float
    operation: Callable[[Plane], int]

    @property
    def expires_seconds(self) -> float:
        return max(2 * self.period_seconds, SHORTEST_EXPIRY_SECONDS)


def scheduled_jobs(timing: Timing) -> tuple[ScheduledJob, ...]:
    """All jobs, with the periods that these lengths of time ask for."""
    # The end of a lease is found at most a sixth of its length late.
    of_a_lease = _between(1.0, timing.lease_seconds / 6, 5.0)
    return (
        ScheduledJob("reap_expired_leases", JobQueue.REAP, of_a_lease, reap_expired_leases),
        ScheduledJob(
            "release_unclaimed_assignments",
            JobQueue.REAP,
            _between(1.0, timing.claim_limit_seconds / 6, 5.0),
            release_unclaimed_assignments,
        ),
        ScheduledJob(
            "mark_silent_hosts_offline",
            JobQueue.REAP,
            _between(1.0, timing.host_silence_seconds / 6, 5.0),
            mark_silent_hosts_offline,
        ),
        # Rung, so the sweep is for lost rings: this is what one costs somebody who waits.
        ScheduledJob(Job.ASSIGN_TASKS.value, JobQueue.JOBS, 2.0, assign_tasks),
        ScheduledJob(
            Job.SETTLE_CANCELS.value, JobQueue.JOBS, _between(1.0, timing.lease_seconds / 6, 2.0), settle_cancels
        ),
        # Rung where a mark was lost; what this finds was lost with the ring, or with Redis itself.
        ScheduledJob(
            Job.RECONCILE_CANCELS.value, JobQueue.JOBS, _between(1.0, timing.lease_seconds / 6, 2.0), reconcile_cancels
        ),
        # A queue timeout is given in seconds and meant in minutes.
        ScheduledJob("fail_impatient_tasks", JobQueue.JOBS, 5.0, fail_impatient_tasks),
        # Whoever sends a task from Celery with `expires` is told that it may begin this much later.
        ScheduledJob("cancel_expired_tasks", JobQueue.JOBS, 2.0, cancel_expired_tasks),
        # A run takes a limited number of tasks. And a beat counts from its own start: one that is restarted every half
        # hour would never come to an hourly job.
        ScheduledJob("purge", JobQueue.JOBS, 60.0, purge),
    )


def sweep_name(job: str) -> str:
    """The name under which beat asks for a job."""
    return f"corral.sweep.{job}"


def ring_name(job: str) -> str:
    """The name under which the doorbell asks for a job."""
    return f"corral.ring.{job}"


def _between(low: float, wished: float, high: float) -> float:
    return max(low, min(wished, high))
