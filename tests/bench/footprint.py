"""What a held request takes of the API's memory, and how long each process needs until it does its work."""

import time

from tests.bench.load_process import load_process
from tests.bench.loads import UntilMarked
from tests.bench.processes import resident_bytes
from tests.bench.renewal_requests import host_request
from tests.bench.row import Row
from tests.bench.seeding import seed_hosts
from tests.bench.sizes import scaled
from tests.bench.stand import Stand, stand
from tests.bench.starts import start_rows

HELD = (scaled(2_000, least=100), scaled(10_000, least=500))
HOLD_MS = 25_000
#: For all of them to be sent and held; each takes well below a millisecond.
SETTLE_SECONDS = 5.0


def run() -> list[Row]:
    with stand() as made:
        return [*_memory(made), *start_rows(made)]


def _memory(stand: Stand) -> list[Row]:
    hosts = seed_hosts(stand, HELD[-1], devices=1, busy=True)
    requests = [host_request(host, wait_ms=HOLD_MS) for host in hosts]
    # Long leases: nothing but the holds happens while they are counted.
    api = stand.start_api(CORRAL_LEASE_SECONDS="600")
    before = resident_bytes(api.pid)
    rows = [Row("held_0", {"resident_mib": before / 2**20})]
    with load_process() as load:
        for count in HELD:
            load.start(UntilMarked(stand.port, requests[:count], requests[:count], b"never"))
            time.sleep(SETTLE_SECONDS)
            held, resident = stand.metric("corral_held_renewals"), resident_bytes(api.pid)
            load.stop().must_be_fine()
            figures = {"held": held, "resident_mib": resident / 2**20, "kib_each": (resident - before) / count / 1024}
            rows.append(Row(f"held_{count}", figures | {"floor": "held_0", "ratio": resident / before}))
            time.sleep(1)
    return rows
