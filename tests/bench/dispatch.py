"""From the submit to the host that has the task, with a thousand idle hosts on long polls and a queue behind it.

The queue is of tasks for hosts that are away, or that are there and have no device free; it must make no difference.
"""

import time
from collections.abc import Sequence

from tests.bench.load_process import LoadProcess, load_process
from tests.bench.loads import Sighting
from tests.bench.row import Row, percentiles_ms
from tests.bench.seeding import SeededHost, put_online, seed_hosts, seed_queue
from tests.bench.sizes import scaled
from tests.bench.stand import Stand, stand
from tests.bench.wire import Client, post
from tests.bench.working_hosts import WorkingHosts, task_id_of
from tests.control.fleet import FLOW

HOSTS = scaled(1_000, least=50)
BUSY_HOSTS = scaled(100, least=10)
DEPTHS = {"1k": 1_000, "100k": scaled(100_000), "1m": scaled(1_000_000)}
SUBMITS = scaled(200, least=20)
SUBMITS_PER_SECOND = 25.0
WARM_UP_SUBMITS = 10
#: For the first long polls to be there, and for what a seeding left behind.
SETTLE_SECONDS = 2.0

QUEUED_FOR = "busy"


def run() -> list[Row]:
    rows: list[Row] = []
    with stand() as made, load_process() as load:
        idle = seed_hosts(made, HOSTS, devices=1, busy=False, labels={"pool": "idle"})
        seed_hosts(made, BUSY_HOSTS, devices=1, busy=True, labels={"pool": QUEUED_FOR})
        made.start_api()
        made.start_jobs()
        depth = 0
        for name, wanted in DEPTHS.items():
            seed_queue(made, wanted - depth, requires=[_pool(QUEUED_FOR)])
            depth = wanted
            for kind, is_online in {"not_matching": False, "matching": True}.items():
                put_online(made, QUEUED_FOR, is_online=is_online)
                rows.append(_row(f"dispatch_{name}_{kind}", made, load, idle))
    floor = rows[0]
    return [floor, *(Row(row.name, row.values | _beside(row, floor)) for row in rows[1:])]


def _row(name: str, stand: Stand, load: LoadProcess, hosts: Sequence[SeededHost]) -> Row:
    load.start(WorkingHosts(stand.port, hosts))
    time.sleep(SETTLE_SECONDS)
    submit_steadily(stand, WARM_UP_SUBMITS)
    sent_at, answered = submit_steadily(stand, SUBMITS)
    time.sleep(SETTLE_SECONDS)
    taken: list[Sighting] = load.stop().must_be_fine().told
    arrived = {task_id_of(sighting.reply): sighting.at for sighting in taken}
    seconds = [arrived[task_id] - sent for task_id, sent in sent_at.items() if task_id in arrived]
    missing = {"submits": len(sent_at), "not_dispatched": len(sent_at) - len(seconds)}
    return Row(name, percentiles_ms(seconds) | missing | {"submit_p50_ms": percentiles_ms(answered)["p50_ms"]})


def submit_steadily(stand: Stand, count: int) -> tuple[dict[str, float], list[float]]:
    """Submit at a fixed rate: when each task was sent, by its id, and how long each answer took."""
    body = {"kind": "flow", "flow": FLOW, "requires": [_pool("idle")]}
    request = post("/v1/tasks", body, token=stand.api_key)
    sent_at, answered = dict[str, float](), list[float]()
    with Client(stand.port) as client:
        begins_at = time.monotonic()
        for number in range(count):
            time.sleep(max(0.0, begins_at + number / SUBMITS_PER_SECOND - time.monotonic()))
            sent = time.monotonic()
            sent_at[client.ask(request)["task_id"]] = sent
            answered.append(time.monotonic() - sent)
    return sent_at, answered


def _pool(name: str) -> dict[str, object]:
    return {"label": "pool", "value": name}


def _beside(row: Row, floor: Row) -> dict[str, object]:
    return {"floor": floor.name, "ratio": row.values["p50_ms"] / floor.values["p50_ms"]}
