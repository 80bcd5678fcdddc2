"""What a device host counts, for Prometheus: each room counts here what it alone knows.

Everything here costs a microsecond or two, and nothing fails: a metric must never be why a run did.
"""

from collections import Counter as Tally
from collections.abc import Iterable

from prometheus_client import Counter, Gauge, Histogram

from corral.contract.fleet import DeviceState

#: From an answer within the rack to one that came when the lease was nearly over.
_RENEWAL_BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
#: From a run that was between two steps to one that had to wait for its phone.
_STOP_BUCKETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)

DEVICES = Gauge("corral_host_devices", "Devices of this host, by state.", ["state"])
RUNNING = Gauge("corral_host_running_assignments", "Assignments that have a device just now.")
#: `cause` is task or infrastructure where the outcome is failed, else empty.
ATTEMPTS = Counter("corral_host_attempts_total", "Attempts that have settled.", ["outcome", "cause"])
#: `outcome` is one of given, empty, failed.
CLAIMS = Counter("corral_host_claims_total", "Polls for work, by what came of them.", ["outcome"])
#: `given_by` is poll, or report: the next task may come with the answer to the report of the last one.
ASSIGNMENTS = Counter("corral_host_assignments_total", "Assignments that were taken.", ["given_by"])
HEARTBEATS = Counter("corral_host_heartbeats_total", "Heartbeats, by whether they were answered.", ["outcome"])
#: `outcome` is one of ok, stale, failed.
RENEWALS = Counter("corral_host_renewals_total", "Renewals of single leases, by their answer.", ["outcome"])
RENEWAL_SECONDS = Histogram(
    "corral_host_renewal_seconds",
    "Time to the answer of a renewal, without the time for which it was held.",
    buckets=_RENEWAL_BUCKETS,
)
STOP_SECONDS = Histogram(
    "corral_host_stop_seconds", "Time from a cancel that was seen to the end of its run.", buckets=_STOP_BUCKETS
)
SPOOLED_REPORTS = Gauge("corral_host_spooled_reports", "Reports on disk that were not acknowledged yet.")
REPORTS_REFUSED = Counter("corral_host_reports_refused_total", "Reports that will never be recorded.")
#: `outcome` is one of stored, failed (and perhaps tried again), given_up.
UPLOADS = Counter("corral_host_uploads_total", "Tries to store artifacts, and artifacts given up.", ["outcome"])
#: `outcome` is answered, or the code of what went wrong.
ADB_COMMANDS = Counter("corral_host_adb_commands_total", "Commands to phones, by what came of them.", ["outcome"])

# Shown as 0 from the start: a rate needs a row before the first event.
for _outcome, _cause in (("done", ""), ("cancelled", ""), ("failed", "task"), ("failed", "infrastructure")):
    ATTEMPTS.labels(_outcome, _cause)
for _outcome in ("given", "empty", "failed"):
    CLAIMS.labels(_outcome)
for _given_by in ("poll", "report"):
    ASSIGNMENTS.labels(_given_by)
for _outcome in ("ok", "failed"):
    HEARTBEATS.labels(_outcome)
for _outcome in ("ok", "stale", "failed"):
    RENEWALS.labels(_outcome)
for _outcome in ("stored", "failed", "given_up"):
    UPLOADS.labels(_outcome)
for _outcome in ("answered", "device_offline", "device_unauthorized", "transport_lost", "timeout", "lease_lost"):
    ADB_COMMANDS.labels(_outcome)


def show_devices(states: Iterable[DeviceState]) -> None:
    """Show how many devices are in each state; those of no device as 0."""
    tally = Tally(states)
    for state in DeviceState:
        DEVICES.labels(state.value).set(tally[state])


show_devices([])
