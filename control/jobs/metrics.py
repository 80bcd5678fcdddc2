"""What a process that runs or ticks jobs counts."""

from collections.abc import Iterable

from prometheus_client import Counter, Histogram

#: From a look that found nothing to a pass of the reaper over the leases of a whole site.
_JOB_BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
_OUTCOMES = ("done", "not_due", "repeated", "failed")

#: `outcome` is one of done, not_due, repeated, failed.
JOB_RUNS = Counter("corral_job_runs_total", "Runs of jobs, by how they went.", ["job_name", "outcome"])
JOB_SECONDS = Histogram("corral_job_seconds", "Time that a run took that was due.", ["job_name"], buckets=_JOB_BUCKETS)
JOB_ROWS = Counter("corral_job_rows_total", "Tasks, leases or hosts that runs changed.", ["job_name"])
BEAT_TICKS = Counter("corral_beat_ticks_total", "Ticks that beat has sent.", ["job_name"])


def show_jobs(job_names: Iterable[str]) -> None:
    """Show the runs of these jobs as 0 before the first."""
    for name in job_names:
        for outcome in _OUTCOMES:
            JOB_RUNS.labels(name, outcome)
        JOB_SECONDS.labels(name)
        JOB_ROWS.labels(name)


def show_ticks(job_names: Iterable[str]) -> None:
    """Show the ticks of these jobs as 0 before the first."""
    for name in job_names:
        BEAT_TICKS.labels(name)
