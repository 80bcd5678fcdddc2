"""Renewals over HTTP: single and durable, single and answered without Postgres, and sixteen of a host in one request.

Their floors are a handler on the same server that does nothing, and the same rows updated by psycopg in batches.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from tests.bench.load_process import Load, LoadProcess, load_process
from tests.bench.loads import AgainAndAgain, Once, Paced
from tests.bench.postgres_counters import Written, written_since, written_when_quiet
from tests.bench.rounds import Sample, in_turns, median_ratio, rate_row, take
from tests.bench.row import Row
from tests.bench.seeding import SeededHost, seed_hosts
from tests.bench.sizes import ROUNDS, scaled
from tests.bench.stand import Stand, stand
from tests.bench.wire import post

DEVICES = 16
#: A pass over all leases of a fleet takes seconds, and then they rest for the third of a length that makes the next
#: renewal a durable one.
LEASE_SECONDS = 9.0
CONNECTIONS = 128
ROWS_A_STATEMENT = 500
TURN_SECONDS = 1.5
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

    def rows(self) -> list[Row]:
        taken = in_turns(
            {
                "bare_asgi": self._bare_single,
                "renew_single": self._single,
                "renew_single_cached": self._cached,
                "bare_asgi_host_16": self._bare_host,
                "renew_host_16": self._host,
                "raw_update_batches": self._raw_updates,
            },
            rounds=ROUNDS,
        )
        return [
            rate_row("bare_asgi", taken),
            rate_row("renew_single", taken, floor="bare_asgi", **self._cost_of_a_pass(), **self._steady_state()),
            rate_row("renew_single_cached", taken, floor="bare_asgi"),
            rate_row("bare_asgi_host_16", taken),
            rate_row("raw_update_batches", taken),
            rate_row(
                "renew_host_16",
                taken,
                floor="bare_asgi_host_16",
                ratio_to_raw_updates=median_ratio(taken["renew_host_16"], taken["raw_update_batches"]),
            ),
        ]

    def _bare_single(self) -> Sample:
        requests = single_requests(self.cached, step=0)
        return self._take(AgainAndAgain(self.stand.bare_port, requests, CONNECTIONS, TURN_SECONDS), "bare")

    def _single(self) -> Sample:
        self._rest()
        return self._take(Once(self.stand.port, single_requests(self.singles, step=self.step), CONNECTIONS))

    def _cached(self) -> Sample:
        requests = single_requests(self.cached, step=self.step)
        self.load.run(Once(self.stand.port, requests, CONNECTIONS)).must_be_fine()
        return self._take(AgainAndAgain(self.stand.port, requests, CONNECTIONS, TURN_SECONDS))

    def _bare_host(self) -> Sample:
        load = AgainAndAgain(self.stand.bare_port, host_requests(self.cached, step=0), CONNECTIONS, TURN_SECONDS)
        return self._take(load, "bare", each=DEVICES)

    def _host(self) -> Sample:
        return self._take(Once(self.stand.port, host_requests(self.hosts, step=self.step), CONNECTIONS), each=DEVICES)

    def _raw_updates(self) -> Sample:
        return take(lambda: update_in_batches(self.stand, self.singles), self.stand.cpu_of("postgres"))

    def _take(self, load: Load, *servers: str, each: int = 1) -> Sample:
        cpu = self.stand.cpu_of(*(servers or ("api", "postgres", "valkey")))
        return take(lambda: self.load.run(load), cpu, each=each)

    def _rest(self) -> None:
        """Wait until every lease of the fleets is due for a durable renewal, and let their progress move on."""
        time.sleep(max(0.0, self.passed_at + LEASE_SECONDS / 3 + 0.5 - time.monotonic()))
        self.passed_at = time.monotonic()
        self.step += 1

    def _cost_of_a_pass(self) -> dict[str, float]:
        """What one durable renewal of each lease writes, when a checkpoint is not near."""
        self.stand.run("CHECKPOINT")
        self._single()  # The first write to a page after a checkpoint logs all of it.
        before = written_when_quiet(self.stand)
        renewals = self._single().operations
        cost = written_since(self.stand, before, updates=renewals)
        return {"wal_bytes": cost.wal_bytes / renewals, "row_writes": cost.updates / renewals} | _hot_share(cost)

    def _steady_state(self) -> dict[str, float]:
        """Leases that are renewed four times as often as they need to be: how many of it reaches their rows."""
        leases = sum(len(host.lease_ids) for host in self.cached)
        before = written_when_quiet(self.stand)
        rate = leases * 12 / LEASE_SECONDS
        load = Paced(self.stand.port, single_requests(self.cached, step=0), rate, CONNECTIONS, 2 * LEASE_SECONDS)
        self.load.run(load).must_be_fine()
        updates = written_since(self.stand, before, updates=leases * 6).updates
        return {"writes_per_lease_and_length": updates / leases / 2}


def single_requests(hosts: Sequence[SeededHost], *, step: int) -> list[bytes]:
    """A renewal of each lease, device by device: neighbours come from different hosts."""
    body = json.dumps({"progress": _progress(step)}, separators=(",", ":"))
    return [
        post(f"/internal/v1/leases/{host.lease_ids[number]}/renew", body, token=host.credential)
        for number in range(len(hosts[0].lease_ids))
        for host in hosts
    ]


def host_requests(hosts: Sequence[SeededHost], *, step: int, wait_ms: int = 0) -> list[bytes]:
    """A renewal of all leases of each host."""
    return [host_request(host, step=step, wait_ms=wait_ms) for host in hosts]


def host_request(host: SeededHost, *, step: int = 0, wait_ms: int = 0, seen: UUID | None = None) -> bytes:
    """A renewal of all leases of a host, one of them perhaps with a cancel that has been seen."""
    leases = [
        {"lease_id": str(lease_id), "progress": _progress(step), **({"cancel_seen": True} if lease_id == seen else {})}
        for lease_id in host.lease_ids
    ]
    body = {"leases": leases, "wait_ms": wait_ms}
    return post(f"/internal/v1/hosts/{host.host_id}/renew", body, token=host.credential)


def _progress(step: int) -> dict[str, object]:
    return {"step": step, "steps_total": 40, "text": "tapOn: Save"}


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


def _hot_share(cost: Written) -> dict[str, float]:
    return {"hot_share": cost.hot_updates / cost.updates if cost.updates else 0.0}
