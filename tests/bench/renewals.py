"""Renewals over HTTP: single and durable, single and answered without Postgres, and sixteen of a host in one request.

Their floors are a handler on the same server that does nothing, and the same rows updated by psycopg in batches.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.bench.load_process import Load, LoadProcess, load_process
from tests.bench.loads import AgainAndAgain, Once, Paced, UntilMarked
from tests.bench.postgres_counters import written_since, written_when_quiet
from tests.bench.renewal_requests import host_requests, single_requests
from tests.bench.rounds import Sample, in_turns, median_ratio, rate_row, take
from tests.bench.row import Row
from tests.bench.seeding import SeededHost, seed_hosts
from tests.bench.sizes import ROUNDS, SCALE, scaled
from tests.bench.stand import Stand, stand

DEVICES = 16
#: A pass over all leases of a fleet takes seconds, and then they rest for the third of a length that makes the next
#: renewal a durable one.
LEASE_SECONDS = 15.0
CONNECTIONS = 256
ROWS_A_STATEMENT = 500
TURN_SECONDS = max(0.3, 1.5 * SCALE)
FROM_POSTGRES = 'corral_renewals_total{answered_from="postgres"}'
ENV = {
    "CORRAL_LEASE_SECONDS": str(LEASE_SECONDS),
    # Nothing is reaped while others have their turn.
    "CORRAL_LONGEST_ACTION_SECONDS": "86400",
}


def run() -> list[Row]:
    with stand() as made, load_process() as load:
        singles = seed_hosts(made, scaled(1_250, least=64), devices=DEVICES, busy=True)
        hosts = seed_hosts(made, scaled(4_000, least=128), devices=DEVICES, busy=True)
        cached = seed_hosts(made, scaled(64, least=16), devices=DEVICES, busy=True)
        made.start_api(**ENV)
        made.start_bare_server()
        return Renewals(made, load, singles, hosts, cached).rows()


@dataclass
class Renewals:
    stand: Stand
    load: LoadProcess
    singles: Sequence[SeededHost]
    hosts: Sequence[SeededHost]
    cached: Sequence[SeededHost]
    step: int = 0
    #: When the last durable pass over one of the fleets began.
    passed_at: float = 0.0
    #: By contestant: how many leases were renewed, and how many of them in Postgres.
    renewed: Counter[str] = field(default_factory=Counter[str])
    durable: Counter[str] = field(default_factory=Counter[str])

    def rows(self) -> list[Row]:
        taken = in_turns(
            {
                "bare_asgi": self._bare_single,
                "renew_single": self.single,
                "renew_single_cached": self._cached,
                "bare_asgi_host_16": self._bare_host,
                "renew_host_16": self._host,
                "raw_update_batches": self._raw_updates,
            },
            rounds=ROUNDS,
        )
        shares = {name: {"durable_share": self.durable[name] / count} for name, count in self.renewed.items()}
        to_raw = median_ratio(taken["renew_host_16"], taken["raw_update_batches"])
        single, host = shares["renew_single"] | self._cost_of_a_pass(), shares["renew_host_16"]
        single |= {"writes_per_lease_and_length": self._writes_of(self._renewed_too_often(), leases=self.cached)}
        host |= {"writes_per_lease_and_length": self._writes_of(self._held(), leases=self.cached)}
        return [
            rate_row("bare_asgi", taken),
            rate_row("renew_single", taken, floor="bare_asgi", **single),
            rate_row("renew_single_cached", taken, floor="bare_asgi", **shares["renew_single_cached"]),
            rate_row("bare_asgi_host_16", taken),
            rate_row("renew_host_16", taken, floor="bare_asgi_host_16", ratio_to_raw_updates=to_raw, **host),
            rate_row("raw_update_batches", taken),
        ]

    def single(self) -> Sample:
        """A durable renewal of every lease of a fleet."""
        self._rest()
        load = Once(self.stand.port, single_requests(self.singles, step=self.step), CONNECTIONS)
        return self._served("renew_single", load)

    def _cached(self) -> Sample:
        requests = single_requests(self.cached, step=self.step)
        self.load.run(Once(self.stand.port, requests, CONNECTIONS)).must_be_fine()
        return self._served("renew_single_cached", _turn(self.stand.port, requests))

    def _host(self) -> Sample:
        load = Once(self.stand.port, host_requests(self.hosts, step=self.step), CONNECTIONS)
        return self._served("renew_host_16", load, each=DEVICES)

    def _bare_single(self) -> Sample:
        return self._bare(single_requests(self.cached, step=0))

    def _bare_host(self) -> Sample:
        return self._bare(host_requests(self.cached, step=0), each=DEVICES)

    def _bare(self, requests: Sequence[bytes], *, each: int = 1) -> Sample:
        load = _turn(self.stand.bare_port, requests)
        return take(lambda: self.load.run(load), self.stand.cpu_of("bare"), each=each)

    def _raw_updates(self) -> Sample:
        return take(lambda: update_in_batches(self.stand, self.singles), self.stand.cpu_of("postgres"))

    def _served(self, name: str, load: Load, *, each: int = 1) -> Sample:
        before = self.stand.metric(FROM_POSTGRES)
        sample = take(lambda: self.load.run(load), self.stand.cpu_of("api", "postgres", "valkey"), each=each)
        self.durable[name] += round(self.stand.metric(FROM_POSTGRES) - before)
        self.renewed[name] += sample.operations
        return sample

    def _rest(self) -> None:
        """Wait until every lease of the fleets is due for a durable renewal, and let their progress move on."""
        time.sleep(max(0.0, self.passed_at + LEASE_SECONDS / 3 + 1 - time.monotonic()))
        self.passed_at = time.monotonic()
        self.step += 1

    def _cost_of_a_pass(self) -> dict[str, float]:
        """What one durable renewal of each lease writes, when a checkpoint is not near."""
        self.stand.run("CHECKPOINT")
        self.single()  # The first write to a page after a checkpoint logs all of it.
        before = written_when_quiet(self.stand)
        renewals = self.single().operations
        cost = written_since(self.stand, before, updates=renewals)
        hot_share = cost.hot_updates / max(cost.updates, 1)
        return {"wal_bytes": cost.wal_bytes / renewals, "row_writes": cost.updates / renewals, "hot_share": hot_share}

    def _renewed_too_often(self) -> Load:
        """Single renewals four times as often as they need to be."""
        leases = single_requests(self.cached, step=0)
        rate = len(leases) * 12 / LEASE_SECONDS
        return Paced(self.stand.port, leases, rate, CONNECTIONS)

    def _held(self) -> Load:
        requests = host_requests(self.cached, step=0, wait_ms=25_000)
        return UntilMarked(self.stand.port, requests, requests, b"never")

    def _writes_of(self, load: Load, *, leases: Sequence[SeededHost]) -> float:
        """How often the row of each lease is written in the length of a lease."""
        before = written_when_quiet(self.stand)
        self.load.start(load)
        time.sleep(2 * LEASE_SECONDS)
        self.load.stop().must_be_fine()
        count = sum(len(host.lease_ids) for host in leases)
        return written_since(self.stand, before, updates=count * 8).updates / count / 2


def _turn(port: int, requests: Sequence[bytes]) -> Load:
    return AgainAndAgain(port, requests, CONNECTIONS, TURN_SECONDS)


def update_in_batches(stand: Stand, hosts: Sequence[SeededHost]) -> int:
    """Update the rows of these leases as plainly as psycopg can."""
    ids = [lease_id for host in hosts for lease_id in host.lease_ids]
    with stand.connection() as connection:
        for first in range(0, len(ids), ROWS_A_STATEMENT):
            connection.execute(
                """
                UPDATE leases SET expires_at = corral_now() + interval '1 day'
                FROM unnest(%s::uuid[]) AS renewed (lease_id) WHERE leases.lease_id = renewed.lease_id
                """,
                [ids[first : first + ROWS_A_STATEMENT]],
                prepare=True,
            )
    return len(ids)
