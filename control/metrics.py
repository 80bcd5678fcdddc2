"""What a process of the control plane counts, in the names that `GET /metrics` shows.

Each room counts here what it alone knows; jobs and bridge have metrics of their own beside. Labels have few values, all
known beforehand, and none is called `job` or `instance`: those are Prometheus' own. Everything here costs a microsecond
or two, and nothing fails: a metric must never be why a request did.
"""

from prometheus_client import Counter, Gauge, Histogram

#: From a wake-up that found its host waiting to a cancel that nobody took before the lease's end.
_CANCEL_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
_ROW_BUCKETS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
_REQUEST_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 30)

#: `hop` is one of committed, marked, delivered, seen.
CANCEL_HOP_SECONDS = Histogram(
    "corral_cancel_hop_seconds",
    "Time since the request of a cancel, when it had come as far as `hop`.",
    ["hop"],
    buckets=_CANCEL_BUCKETS,
)

#: `answered_from` is one of postgres, redis, process.
RENEWALS = Counter("corral_renewals_total", "Renewed leases, by what the answer was read from.", ["answered_from"])
RENEWAL_BATCHES = Counter("corral_renewal_batches_total", "Statements that renewed leases in Postgres.")
RENEWAL_BATCH_ROWS = Histogram("corral_renewal_batch_rows", "Leases renewed by one statement.", buckets=_ROW_BUCKETS)
HELD_RENEWALS = Gauge("corral_held_renewals", "Renewals that wait for a cancel just now.")
HELD_CLAIMS = Gauge("corral_held_claims", "Claims that wait for a task just now.")

SWEEPS_RUN_BY_API = Counter(
    "corral_sweeps_run_by_api_total", "Sweeps that were overdue, because beat or the jobs do not run.", ["job_name"]
)
#: `outcome` is what became of the task: requeued, failed, cancelled.
REAPED_TASKS = Counter(
    "corral_reaped_tasks_total", "Tasks whose lease was taken from their host, by what became of them.", ["outcome"]
)
#: `source` is where the revoke was heard: bridge, worker, reconciliation, expires.
REVOKES = Counter("corral_revokes_total", "Device tasks that were cancelled because Celery said so.", ["source"])
FLEET_LOOKS_FAILED = Counter(
    "corral_fleet_looks_failed_total", "Pages of metrics without the state of the fleet: Postgres did not answer."
)
#: `sender` is one of doorbell, lease cache, wakeups.
SIGNALS_FAILURES = Counter(
    "corral_signals_failures_total", "Calls to Redis that failed or were not tried, by who made them.", ["sender"]
)

#: `route` is the route's template, or `unknown`; `status` is a class: 2xx, 4xx and so on.
HTTP_REQUEST_SECONDS = Histogram(
    "corral_http_request_seconds",
    "Time to answer a request, held requests with the time they were held.",
    ["route", "status"],
    buckets=_REQUEST_BUCKETS,
)

# Shown as 0 from the start: a rate needs a row before the first event.
for _hop in ("committed", "marked", "delivered", "seen"):
    CANCEL_HOP_SECONDS.labels(_hop)
for _source in ("postgres", "redis", "process"):
    RENEWALS.labels(_source)
for _outcome in ("requeued", "failed", "cancelled"):
    REAPED_TASKS.labels(_outcome)
for _source in ("bridge", "worker", "reconciliation", "expires"):
    REVOKES.labels(_source)


def count_revokes(actor: str, number: int = 1) -> None:
    """Count under where `celery:<source>` heard it: names of nodes, of which there may be many, are `worker`."""
    source = actor.removeprefix("celery:")
    REVOKES.labels(source if source in {"bridge", "reconciliation", "expires"} else "worker").inc(number)
