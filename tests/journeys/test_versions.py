"""One version apart: hosts of the version before under this control plane, and the reverse, as in an upgrade.

The control planes are their APIs alone, which run the sweeps as long as nobody else does.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest

from control.store.revision import head_revision
from control.store.schema import migrate
from corral.contract.cancellation import CancellationOutcome, StoppedBy
from corral.contract.task_status import TaskStatus
from corral.stack.postgres import EmbeddedPostgres
from corral.stack.valkey import EmbeddedValkey
from tests.journeys.former_version import former_revision, take_former_version
from tests.journeys.lab import ENDLESS, SHORT, Lab, actions_after, eventually
from workers.phone.app.description import BUILT_IN_APPS
from workers.phone.fleet import phones
from workers.phone.phone import Phone

HOST = "rack"
PHONES = 2


@dataclass
class Mixed:
    """An API and a host of two versions, with two phones and a task on each: one that ends, and one that does not."""

    lab: Lab
    phones: list[Phone]
    short: UUID
    endless: UUID


@pytest.fixture(scope="module")
def mixed(
    postgres: EmbeddedPostgres, valkey: EmbeddedValkey, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Mixed]]:
    """Both ways to mix them, side by side: most of what they take is waiting."""
    former = take_former_version(tmp_path_factory.mktemp("versions") / "former")
    with ExitStack() as stack:
        fleet = stack.enter_context(phones(count=2 * PHONES, apps=[Path(BUILT_IN_APPS)]))
        labs: dict[str, Lab] = {}
        for name in ("api", "host"):
            postgres.ensure_database(f"former_{name}")
            url = postgres.url(f"former_{name}")
            migrate(url, target=former_revision(former) if name == "api" else "head")
            labs[name] = Lab(tmp_path_factory.mktemp(name), url, valkey.url)
            stack.callback(labs[name].stop)
        labs["api"].program("api").code = former
        for number, lab in enumerate(labs.values()):
            lab.add_host(HOST, fleet.addresses[number * PHONES : (number + 1) * PHONES])
        labs["host"].program(HOST).code = former
        for lab in labs.values():
            lab.program("api").start()
        for lab in labs.values():
            eventually(lab.corral.is_ready, what="the API", limit_seconds=60)
        # The order of an upgrade: the schema, then the control plane, then the hosts. So the API of before works on.
        assert migrate(labs["api"].database_url) == head_revision()
        for lab in labs.values():
            lab.program(HOST).start()
        tasks = {name: [lab.submit(flow, host=HOST) for flow in (SHORT, ENDLESS)] for name, lab in labs.items()}
        yield {
            name: Mixed(lab, fleet.phones[number * PHONES : (number + 1) * PHONES], *tasks[name])
            for number, (name, lab) in enumerate(labs.items())
        }


@pytest.mark.parametrize("of_before", ["host", "api"])
def test_a_flow_runs_to_its_end_and_a_cancel_stops_another(mixed: dict[str, Mixed], of_before: str) -> None:
    lab, phones = mixed[of_before].lab, mixed[of_before].phones
    short = lab.ended(mixed[of_before].short, limit_seconds=60)
    assert (short.status, short.attempt) == (TaskStatus.DONE, 1), short.failure_reason

    endless = mixed[of_before].endless
    lab.until_step(endless, 2)
    lab.corral.cancel(endless, reason="one version apart")
    task = lab.ended(endless)
    assert task.status is TaskStatus.CANCELLED
    receipt = task.cancellation
    assert receipt is not None
    assert (receipt.outcome, receipt.stopped_by) == (CancellationOutcome.CANCELLED, StoppedBy.STEP_BOUNDARY)
    assert (receipt.reason, receipt.confirmed) == ("one version apart", True)
    assert receipt.delivered_at is not None
    assert receipt.seen_at is not None
    assert receipt.finished_at is not None
    assert actions_after(phones, receipt.finished_at.timestamp()) == []
    assert lab.rows("SELECT count(*) FROM leases") == [(0,)]
