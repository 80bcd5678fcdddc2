"""From the request to the terminal status, over running tasks on emulated phones with a lease of six seconds."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from control.store.schema import migrate
from corral.contract.cancellation import CancellationReceipt
from corral.stack.postgres import EmbeddedPostgres
from corral.stack.valkey import EmbeddedValkey
from tests.bench.row import Row, percentiles_ms
from tests.journeys.lab import ENDLESS, LEASE_SECONDS, Lab, eventually, laboratory
from workers.phone.app.description import BUILT_IN_APPS
from workers.phone.fleet import phones

PHONES = int(os.environ.get("CORRAL_BENCH_PHONES", "10"))
TASKS = int(os.environ.get("CORRAL_BENCH_TASKS", "50"))


def run() -> list[Row]:
    with TemporaryDirectory(prefix="corral-bench-") as name:
        folder = Path(name)
        postgres, valkey = EmbeddedPostgres(folder / "postgres"), EmbeddedValkey(folder / "valkey")
        postgres.start()
        valkey.start()
        try:
            postgres.ensure_database("bench")
            migrate(postgres.url("bench"))
            with (
                phones(count=PHONES, apps=[Path(BUILT_IN_APPS)]) as fleet,
                laboratory(folder, database_url=postgres.url("bench"), redis_url=valkey.url) as lab,
            ):
                lab.add_host("bench", fleet.addresses).start()
                lab.wait_for_devices("bench", PHONES)
                return _rows([story for _ in range(TASKS // PHONES) for story in _wave(lab)])
        finally:
            valkey.stop()
            postgres.stop()


def _wave(lab: Lab) -> list[CancellationReceipt]:
    tasks = [lab.submit(ENDLESS, host="bench") for _ in range(PHONES)]
    for task in tasks:
        lab.until_step(task, 2)
    for task in tasks:
        lab.corral.cancel(task)
    eventually(lambda: all(lab.corral.get(task).status.is_terminal for task in tasks), what="all cancelled")
    return [story for task in tasks if (story := lab.corral.get(task).cancellation)]


def _rows(stories: list[CancellationReceipt]) -> list[Row]:
    def since_request(attribute: str) -> list[float]:
        return [(getattr(story, attribute) - story.requested_at).total_seconds() for story in stories]

    bound = {"lease_third_ms": LEASE_SECONDS / 3 * 1000, "tasks": len(stories)}
    return [
        Row("request_to_delivered", percentiles_ms(since_request("delivered_at")) | bound),
        Row("request_to_seen", percentiles_ms(since_request("seen_at")) | bound),
        Row("request_to_terminal", percentiles_ms(since_request("finished_at")) | bound),
    ]
