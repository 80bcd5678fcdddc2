"""What a pass over the queue, a claim and the reaper cost, by the depth of the queue and the size of the fleet."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from control.operations.assign import assign_tasks
from control.operations.claim import claim_assignments
from control.operations.plane import Plane
from control.operations.reap import reap_expired_leases
from control.operations.results import record_task_result
from corral.contract.host_protocol import ClaimRequest, TerminalResultRequest
from corral.contract.identifiers import uuid7
from tests.bench.row import Row, percentiles_ms
from tests.bench.row_locks import api_alive, transactions_of_reaper
from tests.bench.seeding import SeededHost, put_online, seed_hosts, seed_queue
from tests.bench.sizes import scaled
from tests.bench.stand import Stand, stand
from tests.control.fleet import Fleet

DEPTHS = {"1k": 1_000, "100k": scaled(100_000, least=2_000), "1m": scaled(1_000_000, least=3_000)}
IDLE_HOSTS = scaled(1_000, least=50)
WORKING_HOSTS, DEVICES = 16, 16
PASSES = 15
ROUNDS = 3
LARGE_FLEET = scaled(100_000, least=1_600)


def run() -> list[Row]:
    with stand() as made:
        plane = made.open_plane()
        scale = Scale(made, plane)
        rows = [*scale.by_depth(), *scale.by_fleet(), scale.reaping()]
        plane.database.close()
        return rows


@dataclass
class Scale:
    stand: Stand
    plane: Plane

    def by_depth(self) -> list[Row]:
        """The queue grows. None of it suits the idle fleet; all of it suits hosts that are online for their turn."""
        seed_hosts(self.stand, IDLE_HOSTS, devices=1, busy=False, labels={"pool": "idle"})
        hosts = seed_hosts(self.stand, WORKING_HOSTS, devices=DEVICES, busy=False, labels={"pool": "queue"})
        passes: dict[str, list[float]] = {}
        work: dict[str, list[tuple[float, float]]] = {}
        depth = 0
        for name, wanted in DEPTHS.items():
            seed_queue(self.stand, wanted - depth, requires=[{"label": "pool", "value": "queue"}])
            depth = wanted - WORKING_HOSTS * DEVICES * ROUNDS
            self._put_online(is_online=False)
            passes[name] = [_seconds(lambda: assign_tasks(self.plane)) for _ in range(PASSES)]
            self._put_online(is_online=True)
            work[name] = [self._work_once(hosts) for _ in range(ROUNDS)]
        self._put_online(is_online=False)
        return [*_pass_rows("assign_not_matching", passes), *_work_rows(work)]

    def by_fleet(self) -> list[Row]:
        """One task for one free device, in a small fleet and beside a large one that is busy, and one that is idle."""
        one = {"pool": "one"}
        seed_hosts(self.stand, 1, devices=1, busy=False, labels=one)
        host = seed_hosts(self.stand, 1, devices=1, busy=False, labels=one)[0]
        passes = {"small": self._assign_one_by_one(host)}
        seed_hosts(self.stand, LARGE_FLEET // DEVICES, devices=DEVICES, busy=False, labels={"pool": "many"})
        passes["100k_idle"] = self._assign_one_by_one(host)
        seed_hosts(self.stand, LARGE_FLEET // DEVICES, devices=DEVICES, busy=True, lease="-1 day")
        passes["100k_busy"] = self._assign_one_by_one(host)
        return _pass_rows("assign_one_in_fleet", passes)

    def reaping(self) -> Row:
        """All leases of the busy fleet, which has not been heard of for a day."""
        Fleet(self.plane).api_has_been_up()
        began = time.monotonic()
        with api_alive(self.plane), transactions_of_reaper() as longest:
            reaped = reap_expired_leases(self.plane)
        seconds = time.monotonic() - began
        left = self.stand.value("SELECT count(*) FROM leases")
        figures = {"per_second": reaped / seconds, "leases": reaped, "seconds": seconds, "leases_left": left}
        return Row("reap_expired", figures | {"longest_lock_ms": longest.seconds * 1000})

    def _put_online(self, *, is_online: bool) -> None:
        put_online(self.stand, "queue", is_online=is_online)

    def _work_once(self, hosts: Sequence[SeededHost]) -> tuple[float, float]:
        """Every device gets a task, which ends at once; answers tasks per second of the pass, and of the claims."""
        count = WORKING_HOSTS * DEVICES
        assigning = _seconds(lambda: assign_tasks(self.plane))
        began = time.monotonic()
        leases = [(host, one.lease_id) for host in hosts for one in self._claim(host)]
        claiming = time.monotonic() - began
        assert len(leases) == count, f"{len(leases)} of {count} devices had a task"
        for host, lease_id in leases:
            record_task_result(self.plane, host.host_id, lease_id, TerminalResultRequest(status="done"))
        return count / assigning, count / claiming

    def _claim(self, host: SeededHost) -> Sequence[object]:
        request = ClaimRequest(
            claim_id=uuid7(),
            incarnation=host.incarnation,
            free_devices=list(host.serials),
            max_assignments=DEVICES,
            wait_ms=0,
        )
        return claim_assignments(self.plane, host.host_id, request)

    def _assign_one_by_one(self, host: SeededHost) -> list[float]:
        fleet, seconds = Fleet(self.plane), list[float]()
        for _ in range(PASSES):
            fleet.submit(requires=[{"label": "pool", "value": "one"}], priority=50)
            seconds.append(_seconds(lambda: assign_tasks(self.plane)))
            for lease in self._claim(host):
                record_task_result(self.plane, host.host_id, lease.lease_id, TerminalResultRequest(status="done"))
        return seconds


def _seconds(action: Callable[[], object]) -> float:
    began = time.monotonic()
    action()
    return time.monotonic() - began


def _pass_rows(what: str, passes: dict[str, list[float]]) -> list[Row]:
    first = next(iter(passes))
    floor = statistics.median(passes[first])
    return [
        Row(
            f"{what}_{name}",
            percentiles_ms(seconds)
            | ({"floor": f"{what}_{first}", "ratio": statistics.median(seconds) / floor} if name != first else {}),
        )
        for name, seconds in passes.items()
    ]


def _work_rows(work: dict[str, list[tuple[float, float]]]) -> list[Row]:
    rows: list[Row] = []
    for place, what in enumerate(("assign_matching", "claim_batches_matching")):
        rates = {name: statistics.median(pair[place] for pair in pairs) for name, pairs in work.items()}
        first = next(iter(rates))
        rows += [
            Row(
                f"{what}_{name}",
                {"per_second": rate}
                | ({"floor": f"{what}_{first}", "ratio": rate / rates[first]} if name != first else {}),
            )
            for name, rate in rates.items()
        ]
    return rows
