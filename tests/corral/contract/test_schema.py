"""The contract changes only when somebody means it: its JSON schema is kept, and a difference is shown.

After a change that is meant: `CORRAL_WRITE_SNAPSHOTS=1 pytest tests/corral/contract`, then read the difference.
"""

import json
import os
from pathlib import Path

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from corral.contract import cancellation, fleet, goals, history, host_protocol, problems, tasks
from corral.contract.models import Strict, Tolerant

SNAPSHOT = Path(__file__).with_name("contract.schema.json")


def models() -> list[type[BaseModel]]:
    found = {
        value
        for module in (tasks, goals, cancellation, history, fleet, host_protocol, problems)
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, BaseModel) and value not in {Strict, Tolerant}
    }
    return sorted(found, key=lambda model: model.__name__)


def test_the_contract_is_the_one_that_was_agreed() -> None:
    _, schema = models_json_schema([(model, "validation") for model in models()])
    text = json.dumps(schema, indent=1, sort_keys=True) + "\n"
    if os.environ.get("CORRAL_WRITE_SNAPSHOTS"):
        SNAPSHOT.write_text(text)
    assert text == SNAPSHOT.read_text()


def test_public_requests_refuse_unknown_fields_and_all_else_is_read_tolerantly() -> None:
    strict = {model.__name__ for model in models() if model.model_config.get("extra") == "forbid"}
    assert strict == {
        "TaskSubmission",
        "AgentOptions",
        "Requirement",
        "TaskCancellationRequest",
        "DrainRequest",
        "ApiKeyRequest",
    }


def test_an_older_host_skips_what_a_newer_control_plane_adds() -> None:
    reply = {
        "status": "renewed",
        "lease_id": "01900000-0000-7000-8000-000000000000",
        "lease_expires_at": "2030-01-01T00:00:00Z",
        "lease_remaining_ms": 30_000,
        "renew_after_ms": 10_000,
        "invented_later": True,
    }
    assert host_protocol.LeaseRenewalResponse.model_validate(reply).cancel_requested is False


def test_a_device_state_that_is_not_known_yet_reads_as_unknown() -> None:
    device = host_protocol.ReportedDevice.model_validate({"serial": "A", "state": "levitating"})
    assert device.state is fleet.DeviceState.UNKNOWN
