"""From the request to the terminal status, over running tasks on emulated phones with a lease of six seconds.

Flows are cancelled between taps, goals while a model behind HTTP is speaking.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from control.store.schema import migrate
from corral.contract.cancellation import CancellationReceipt
from corral.contract.tasks import TaskSubmission
from corral.stack.postgres import EmbeddedPostgres
from corral.stack.valkey import EmbeddedValkey
from tests.bench.row import Row, percentiles_ms
from tests.bench.sizes import scaled
from tests.journeys.lab import ENDLESS, LEASE_SECONDS, Lab, eventually, laboratory
from tests.journeys.slow_model import NAME, slow_model
from workers.phone.app.description import BUILT_IN_APPS
from workers.phone.fleet import phones

PHONES = int(os.environ.get("CORRAL_BENCH_PHONES", "10"))
TASKS = int(os.environ.get("CORRAL_BENCH_TASKS", str(scaled(50, least=PHONES))))


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
                slow_model() as model,
                laboratory(folder, database_url=postgres.url("bench"), redis_url=valkey.url) as lab,
            ):
                host = lab.add_host("bench", fleet.addresses)
                host.env |= {"CORRAL_HOST_AGENT_MODEL": NAME, "CORRAL_HOST_AGENT_MODEL_URL": model.url}
                host.start()
                lab.wait_for_devices("bench", PHONES)
                waves = range(TASKS // PHONES)
                flows = [story for _ in waves for story in _wave(lab, kind="flow", flow=ENDLESS)]
                goals = [story for _ in waves for story in _wave(lab, kind="goal", goal="Think about it.")]
                return [*_rows("flow", flows), *_rows("goal", goals)]
        finally:
            valkey.stop()
            postgres.stop()


def _wave(lab: Lab, **fields: str) -> list[CancellationReceipt]:
    submission = TaskSubmission.model_validate(fields)
    tasks = [lab.corral.submit_task(submission).task_id for _ in range(PHONES)]
    for task in tasks:
        lab.until_step(task, 2)
    for task in tasks:
        lab.corral.cancel(task)
    eventually(lambda: all(lab.corral.get(task).status.is_terminal for task in tasks), what="all cancelled")
    return [story for task in tasks if (story := lab.corral.get(task).cancellation)]


def _rows(kind: str, stories: list[CancellationReceipt]) -> list[Row]:
    def since_request(attribute: str) -> list[float]:
        return [(getattr(story, attribute) - story.requested_at).total_seconds() for story in stories]

    bound = {"lease_third_ms": LEASE_SECONDS / 3 * 1000, "tasks": len(stories)}
    return [
        Row(f"{kind}_to_delivered", percentiles_ms(since_request("delivered_at")) | bound),
        Row(f"{kind}_to_seen", percentiles_ms(since_request("seen_at")) | bound),
        Row(f"{kind}_to_terminal", percentiles_ms(since_request("finished_at")) | bound),
    ]
