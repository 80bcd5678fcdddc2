"""The whole life of a task that does nothing, against what others need for one.

Corral's goes through HTTP: submitted one by one over a few connections, claimed by hosts, reported done. The peers'
are enqueued one by one and run by their default worker, on the same Postgres and the same Valkey.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.bench.enqueues import enqueue_rows
from tests.bench.load_process import LoadProcess, load_process
from tests.bench.loads import Once
from tests.bench.peers.race import peer_queues, peers
from tests.bench.rounds import Sample, Turn, in_turns, median_ratio, rate_row, take
from tests.bench.row import Row
from tests.bench.seeding import SeededHost, seed_hosts
from tests.bench.sizes import ROUNDS, scaled
from tests.bench.stand import Stand, stand
from tests.bench.wire import post
from tests.bench.working_hosts import WorkingHosts
from tests.control.fleet import FLOW

TASKS = scaled(1_000, least=50)
HOSTS = 32
SUBMITTERS = 4
#: For the first claims to wait at the server.
SETTLE_SECONDS = 0.3


def run() -> list[Row]:
    with stand() as made, load_process() as hosts_load, load_process() as submits_load:
        corral = started_life(made, hosts_load, submits_load)
        queues = peer_queues(made)
        with peers(made, queues, tasks=TASKS) as others:
            taken = in_turns({"corral_life": corral.live, **others}, rounds=ROUNDS)
        ratios = {f"ratio_to_{name}": median_ratio(taken["corral_life"], taken[name]) for name in others}
        lives = [rate_row("corral_life", taken, floor="procrastinate_life", **ratios)]
        return [*lives, *(rate_row(name, taken) for name in others), *enqueue_rows(made, queues)]


def started_life(stand: Stand, hosts_load: LoadProcess, submits_load: LoadProcess, **env: str) -> "CorralLife":
    """A control plane that runs, with idle hosts."""
    hosts = seed_hosts(stand, HOSTS, devices=1, busy=False)
    stand.start_api(**env)
    stand.start_jobs(**env)
    return CorralLife(stand, hosts_load, submits_load, hosts)


@dataclass
class CorralLife:
    stand: Stand
    hosts_load: LoadProcess
    submits_load: LoadProcess
    hosts: Sequence[SeededHost]

    def live(self) -> Sample:
        """Some tasks from their submit to their end."""
        return take(self._all_lives, self.stand.cpu_of("api", "jobs", "postgres", "valkey"))

    def _all_lives(self) -> Turn:
        request = post("/v1/tasks", {"kind": "flow", "flow": FLOW}, token=self.stand.api_key)
        self.hosts_load.start(WorkingHosts(self.stand.port, self.hosts, enough=TASKS))
        time.sleep(SETTLE_SECONDS)
        begins_at = time.monotonic()
        self.submits_load.run(Once(self.stand.port, [request] * TASKS, SUBMITTERS)).must_be_fine()
        lived = self.hosts_load.finished().must_be_fine()
        return Turn(TASKS, lived.last_at - begins_at)
