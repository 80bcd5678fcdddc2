"""From the cancel request to the reply that tells its host, with a thousand held renewals and others under way.

Redis is there, stopped, frozen, or every mark is lost: then the cancel is committed by a process that tells nobody.
The clock starts when the request is sent and stops when the host's own reply has arrived whole.
"""

import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

from control.store.database import Database
from control.store.transitions import request_cancel
from tests.bench.load import LoadResult
from tests.bench.load_process import LoadProcess, load_process
from tests.bench.loads import Paced, UntilMarked
from tests.bench.renewal_requests import host_request, single_requests
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
#: What Redis does not shorten must be waited for, so the outages are measured with short leases. Hosts poll the more
#: often then, several times in each third of a lease while nothing can be held, and leave room for fewer others.
SHORT_LEASE_SECONDS = 9.0
OUTAGE_LOAD_PER_SECOND = LOAD_PER_SECOND // 4
#: What the breaker, the listener and the jobs need to come back; and what the first renewals of all take.
RECOVERY_SECONDS = 4.0
HOLD_MS = 25_000
MARK = b'"cancel_requested":true'

Cancel = Callable[[UUID], object]


def run() -> list[Row]:
    with stand() as made, load_process() as held, load_process() as others:
        fleet = seed_hosts(made, HOSTS, devices=DEVICES, busy=True)
        loaded = seed_hosts(made, round(LOAD_PER_SECOND * USUAL_LEASE_SECONDS / 3) // 16, devices=16, busy=True)
        trial = Trial(made, held, others, fleet, loaded, made.open_plane().database)
        with trial.under_load(LOAD_PER_SECOND, lease_seconds=USUAL_LEASE_SECONDS):
            trial.cancel("cancel_usual", trial.over_http, USUAL_CANCELS)
        with trial.under_load(OUTAGE_LOAD_PER_SECOND, lease_seconds=SHORT_LEASE_SECONDS):
            trial.cancel("cancel_marks_lost", trial.without_a_word, OUTAGE_CANCELS)
            with _frozen(made):
                trial.cancel("cancel_redis_frozen", trial.over_http, OUTAGE_CANCELS)
            time.sleep(RECOVERY_SECONDS)
            with _stopped(made):
                trial.cancel("cancel_redis_stopped", trial.over_http, OUTAGE_CANCELS)
            time.sleep(RECOVERY_SECONDS)
            trial.cancel("cancel_redis_back", trial.over_http, OUTAGE_CANCELS)
        trial.database.close()
        return trial.rows


@dataclass
class Trial:
    stand: Stand
    held: LoadProcess
    others: LoadProcess
    fleet: Sequence[SeededHost]
    loaded: Sequence[SeededHost]
    #: Of a process that tells nobody what it commits.
    database: Database
    rows: list[Row] = field(default_factory=list[Row])
    #: Of one control plane: when each host's cancel was sent, by the host's number, for each name of a row.
    sent_at: dict[str, dict[int, float]] = field(default_factory=dict[str, dict[int, float]])
    lease_seconds: float = USUAL_LEASE_SECONDS
    #: The hosts before this one have had their cancel.
    first: int = 0

    @contextmanager
    def under_load(self, per_second: float, *, lease_seconds: float) -> Iterator[None]:
        """A fresh control plane with leases of that length, while all hosts hold and others renew."""
        self.lease_seconds, self.sent_at = lease_seconds, {}
        pace = {"CORRAL_LEASE_SECONDS": str(lease_seconds), "CORRAL_LONGEST_ACTION_SECONDS": "1"}
        api = self.stand.start_api(**pace)
        api.wait_until(lambda: api.has_said("wakeups.connected"))
        # Each of them a little later than it is due, so that every one goes to Postgres.
        count = round(per_second * lease_seconds / 3 * 1.05)
        renewals = single_requests(self.loaded, step=0)[:count]
        self.stand.start_jobs(**pace)
        self.held.start(UntilMarked(self.stand.port, *self._held_requests(), MARK))
        self.others.start(Paced(self.stand.port, renewals, per_second, connections=64))
        time.sleep(RECOVERY_SECONDS)
        yield
        others, seen = self.others.stop(), self.held.stop()
        for refusal in filter(None, (others.first_refusal, seen.first_refusal)):
            sys.stderr.write(f"with leases of {lease_seconds} s, the first that was refused: {refusal}\n")
        self.rows += [self._row(name, sent_at, others, seen) for name, sent_at in self.sent_at.items()]

    def cancel(self, name: str, cancel: Cancel, count: int) -> None:
        """Cancel a task of one host after the other, and wait until the last has had the time to hear of it."""
        sent_at = self.sent_at[name] = dict[int, float]()
        begins_at = time.monotonic()
        for index in range(count):
            time.sleep(max(0.0, begins_at + index / CANCELS_PER_SECOND - time.monotonic()))
            sent_at[self.first] = time.monotonic()
            cancel(self.fleet[self.first].task_ids[0])
            self.first += 1
        time.sleep(min(self.lease_seconds / 3 + 1, 4))

    def over_http(self, task_id: UUID) -> object:
        with Client(self.stand.port) as client:
            return client.ask(post(f"/v1/tasks/{task_id}/cancel", "{}", token=self.stand.api_key))

    def without_a_word(self, task_id: UUID) -> object:
        with self.database.transaction() as tx:
            return request_cancel(tx, task_id, actor="key:bench", reason=None)

    def _held_requests(self) -> tuple[list[bytes], list[bytes]]:
        knowing = [host_request(host, wait_ms=HOLD_MS, seen=host.lease_ids[0]) for host in self.fleet]
        unknowing = [host_request(host, wait_ms=HOLD_MS) for host in self.fleet[self.first :]]
        return knowing[: self.first] + unknowing, knowing

    def _row(self, name: str, sent_at: dict[int, float], others: LoadResult, seen: LoadResult) -> Row:
        seconds = [sight.at - sent_at[sight.number] for sight in seen.told if sight.number in sent_at]
        renewals = percentiles_ms(others.latencies)
        bound_ms = self.lease_seconds / 3 * 1000 + renewals["p50_ms"]
        figures = percentiles_ms(seconds)
        return Row(
            f"{name}_{len(self.fleet)}_held",
            figures
            | {"floor": "L/3 and a request", "floor_ms": bound_ms, "ratio": figures["max_ms"] / bound_ms}
            | {"cancels": len(sent_at), "unseen": len(sent_at) - len(seconds), "leases_lost": self._lost()}
            | {"renewals_per_second": others.operations / others.seconds, "renewal_p99_ms": renewals["p99_ms"]}
            | {"refused": sum((others.statuses + seen.statuses).values())},
        )

    def _lost(self) -> int:
        """No lease of those that hold has ended: nobody has reported a result."""
        mine = [lease_id for host in self.fleet for lease_id in host.lease_ids]
        with self.stand.connection() as connection:
            row = connection.execute("SELECT count(*) FROM leases WHERE lease_id = ANY(%s)", [mine]).fetchone()
        assert row is not None
        return len(mine) - row[0]


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
