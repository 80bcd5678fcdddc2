"""What the bridge counts: the lives of tasks as the audit trail tells of them, and its own work.

Each bridge counts what it did as the leader, so sums over all of them are right, also after another has taken over: it
goes on where the last one was, or up to a second before where that was killed.
"""

from prometheus_client import Counter, Gauge, Histogram

from corral.contract.history import TaskEventKind
from corral.contract.task_status import TERMINAL_STATUSES

#: From a device that was free to a queue of a whole night.
_WAIT_BUCKETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600, 4 * 3600)
#: From a flow of one step to a goal that used up its budget.
_RUN_BUCKETS = (0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 2 * 3600)
#: From a wake-up that found its host waiting to a lease that had to expire.
_CANCEL_BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120)

TASK_EVENTS = Counter("corral_task_events_total", "Events of the audit trail, by kind.", ["kind"])
TASKS_ENDED = Counter("corral_tasks_ended_total", "Tasks that came to their end.", ["outcome"])
ASSIGN_SECONDS = Histogram(
    "corral_assign_seconds", "Time from a task's place in the queue to its device.", buckets=_WAIT_BUCKETS
)
CLAIM_SECONDS = Histogram(
    "corral_claim_seconds", "Time from an assignment to its claim by the host.", buckets=_WAIT_BUCKETS
)
#: `outcome` is one of done, failed, cancelled, requeued.
RUN_SECONDS = Histogram(
    "corral_run_seconds", "Time from a claim to the end of its attempt.", ["outcome"], buckets=_RUN_BUCKETS
)
#: `until` is one of delivered, seen, ended, ended_before_start.
CANCEL_SECONDS = Histogram(
    "corral_cancel_seconds",
    "Time from the request of a cancel until its host was told, had seen it, and the task had ended.",
    ["until"],
    buckets=_CANCEL_BUCKETS,
)
#: `actor` is host, reaper, or other.
REQUEUES = Counter("corral_requeues_total", "Tasks that went back to the queue, by who sent them.", ["actor"])

IS_LEADER = Gauge("corral_bridge_is_leader", "1 while this bridge is the leader.")
FEED_LAG_SECONDS = Gauge(
    "corral_bridge_feed_lag_seconds", "For how long the trail has had events that could not be read yet."
)
EVENTS_PUBLISHED = Counter("corral_bridge_events_published_total", "Events sent to Flower, heartbeats included.")
#: `state` is one of QUEUED (again), STARTED (with progress), SUCCESS, FAILURE, REVOKED.
RESULTS_PUBLISHED = Counter("corral_results_published_total", "States given to Celery's result backend.", ["state"])

# Shown as 0 from the start: a rate needs a row before the first event.
for _kind in TaskEventKind:
    TASK_EVENTS.labels(_kind.value.removeprefix("task."))
for _outcome in TERMINAL_STATUSES:
    TASKS_ENDED.labels(_outcome.value)
for _outcome in ("done", "failed", "cancelled", "requeued"):
    RUN_SECONDS.labels(_outcome)
for _until in ("delivered", "seen", "ended", "ended_before_start"):
    CANCEL_SECONDS.labels(_until)
for _actor in ("host", "reaper", "other"):
    REQUEUES.labels(_actor)
for _state in ("QUEUED", "STARTED", "SUCCESS", "FAILURE", "REVOKED"):
    RESULTS_PUBLISHED.labels(_state)
