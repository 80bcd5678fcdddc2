"""From the cancel request to the reply that tells its host, with a thousand held renewals and others under way.

Redis is there, stopped, frozen, or every mark is lost: then the cancel is committed by a process that tells nobody.
The clock starts when the request is sent and stops when the host's own reply has arrived whole.
"""

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from control.store.transitions import request_cancel
from tests.bench.load_process import LoadProcess, load_process
from tests.bench.loads import Paced, Sighting, UntilMarked
from tests.bench.renewals import host_request, single_requests
from tests.bench.row import Row, percentiles_ms
from tests.bench.seeding import SeededHost, seed_hosts
from tests.bench.sizes import scaled
from tests.bench.stand import Stand, stand
from tests.bench.wire import Client, post

HOSTS = scaled(1_000, least=60)
DEVICES = 2
LOAD_PER_SECOND = scaled(1_000, least=100)
CANCELS_PER_SECOND = 40.0
USUAL_CANCELS = scaled(400, least=20)
OUTAGE_CANCELS = scaled(120, least=10)
USUAL_LEASE_SECONDS = 30.0
#: What Redis does not shorten must be waited for, so the outages are measured with short leases.
SHORT_LEASE_SECONDS = 3.0
#: What the breaker, the listener and the jobs need to come back.
RECOVERY_SECONDS = 4.0
HOLD_MS = 25_000
MARK = b'"cancel_requested":true'

Cancel = Callable[[UUID], object]


def run() -> list[Row]:
    with stand() as made, load_process() as held, load_process() as others:
        fleet = seed_hosts(made, HOSTS, devices=DEVICES, busy=True)
        # One host that renews often enough for every lease of it to live.
        loaded = seed_hosts(made, max(1, int(LOAD_PER_SECOND * SHORT_LEASE_SECONDS / 6)), devices=1, busy=True)
        trial = Trial(made, held, others, fleet, single_requests(loaded, step=0))
        trial.start_control_plane(USUAL_LEASE_SECONDS)
        rows = [trial.row("cancel_usual", trial.over_http, USUAL_CANCELS)]
        trial.start_control_plane(SHORT_LEASE_SECONDS)
        rows.append(trial.row("cancel_marks_lost", trial.without_a_word, OUTAGE_CANCELS))
        with _frozen(made):
            rows.append(trial.row("cancel_redis_frozen", trial.over_http, OUTAGE_CANCELS))
        time.sleep(RECOVERY_SECONDS)
        with _stopped(made):
            rows.append(trial.row("cancel_redis_stopped", trial.over_http, OUTAGE_CANCELS))
        time.sleep(RECOVERY_SECONDS)
        return [*rows, trial.row("cancel_redis_back", trial.over_http, OUTAGE_CANCELS)]


@dataclass
class Trial:
    stand: Stand
    held: LoadProcess
    others: LoadProcess
    fleet: Sequence[SeededHost]
    other_renewals: Sequence[bytes]
    lease_seconds: float = USUAL_LEASE_SECONDS
    #: The hosts before this one have had their cancel.
    first: int = 0

    def start_control_plane(self, lease_seconds: float) -> None:
        self.lease_seconds = lease_seconds
        pace = {"CORRAL_LEASE_SECONDS": str(lease_seconds), "CORRAL_LONGEST_ACTION_SECONDS": "1"}
        self.stand.start_api(**pace)
        self.stand.start_jobs(**pace)
        self.stand.programs["api"].wait_until(lambda: self.stand.programs["api"].has_said("wakeups.connected"))

    def over_http(self, task_id: UUID) -> object:
        with Client(self.stand.port) as client:
            return client.ask(post(f"/v1/tasks/{task_id}/cancel", "{}", token=self.stand.api_key))

    def without_a_word(self, task_id: UUID) -> object:
        plane = self.stand.open_plane(pool_size=1)
        with plane.database.transaction() as tx:
            changed = request_cancel(tx, task_id, actor="key:bench", reason=None)
        plane.database.close()
        return changed

    def row(self, name: str, cancel: Cancel, count: int) -> Row:
        leases = self._leases()
        self.held.start(UntilMarked(self.stand.port, *self._held_requests(), MARK))
        self.others.start(Paced(self.stand.port, self.other_renewals, LOAD_PER_SECOND, connections=64))
        time.sleep(self.lease_seconds / 3 if self.lease_seconds == SHORT_LEASE_SECONDS else 2.0)
        sent_at = self._cancel_one_by_one(cancel, count)
        time.sleep(min(self.lease_seconds / 3 + 1, 3))
        others, seen = self.others.stop(), self.held.stop()
        seconds = self._latencies(sent_at, seen.told)
        self.first += count
        request = percentiles_ms(others.latencies)["p99_ms"]
        bound = self.lease_seconds / 3 * 1000 + request
        figures = percentiles_ms(seconds)
        return Row(
            f"{name}_{len(self.fleet)}_held",
            figures
            | {"floor": "a third of the lease and a request", "floor_ms": bound, "ratio": figures["max_ms"] / bound}
            | {"cancels": count, "unseen": count - len(seconds), "leases_lost": leases - self._leases()}
            | {"renewals_per_second": others.operations / others.seconds, "renewal_p99_ms": request}
            | {"refused": sum(others.statuses.values()) + sum(seen.statuses.values())},
        )

    def _held_requests(self) -> tuple[list[bytes], list[bytes]]:
        knowing = [host_request(host, wait_ms=HOLD_MS, seen=host.lease_ids[0]) for host in self.fleet]
        unknowing = [host_request(host, wait_ms=HOLD_MS) for host in self.fleet[self.first :]]
        return knowing[: self.first] + unknowing, knowing

    def _cancel_one_by_one(self, cancel: Cancel, count: int) -> dict[int, float]:
        sent_at: dict[int, float] = {}
        begins_at = time.monotonic()
        for index in range(count):
            time.sleep(max(0.0, begins_at + index / CANCELS_PER_SECOND - time.monotonic()))
            number = self.first + index
            sent_at[number] = time.monotonic()
            cancel(self.fleet[number].task_ids[0])
        return sent_at

    def _latencies(self, sent_at: dict[int, float], seen: Sequence[Sighting]) -> list[float]:
        return [sighting.at - sent_at[sighting.number] for sighting in seen if sighting.number in sent_at]

    def _leases(self) -> int:
        return self.stand.value("SELECT count(*) FROM leases")


@contextmanager
def _frozen(stand: Stand) -> Iterator[None]:
    assert stand.valkey.process is not None
    stand.valkey.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        stand.valkey.process.send_signal(signal.SIGCONT)


@contextmanager
def _stopped(stand: Stand) -> Iterator[None]:
    stand.valkey.stop()
    try:
        yield
    finally:
        stand.valkey.start()
