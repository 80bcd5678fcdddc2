"""What hosts send that no table was made for: it is kept as far as it can be, and no host goes unheard for it."""

import json
from typing import Any

import pytest

from control.domain.errors import ResultConflict
from control.operations.hosts import heartbeat, list_devices
from corral.contract.fleet import DeviceState
from corral.contract.host_protocol import Heartbeat, ReportedDevice
from tests.control.fleet import Fleet

ODD_RESULTS = [
    {"text": "a\0b", "key\0": 1},
    {"half": "\ud83d", "whole": "\U0001f4f1"},
    {"literal": "\\u0000"},
    {"large": 1e300, "larger": 2**63, "small": 5e-324, "whole": 1.0, "negative": -0.0},
    {"none": float("nan"), "endless": [float("inf"), {"deep": float("-inf")}]},
    {"long": "x" * 100_000},
]


@pytest.mark.parametrize("result", ODD_RESULTS, ids=lambda result: next(iter(result)))
def test_a_result_of_any_kind_is_recorded_and_its_repetition_is_known(fleet: Fleet, result: dict[str, Any]) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    assert host.report(assignment, "done", result=result).status == "recorded"
    assert host.report(assignment, "done", result=result).status == "already_recorded"
    with pytest.raises(ResultConflict):
        host.report(assignment, "done", result={**result, "one": "more"})
    assert json.dumps(fleet.show(assignment.task_id).result, allow_nan=False)


def test_what_can_be_kept_of_a_result_is_kept_as_it_was(fleet: Fleet) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    host.report(assignment, "done", result={"odd": "\0", "literal": "\\u0000", "phone": "\U0001f4f1", "no": None})
    assert fleet.show(assignment.task_id).result == {
        "odd": "\N{REPLACEMENT CHARACTER}",
        "literal": "\\u0000",
        "phone": "\U0001f4f1",
        "no": None,
    }


def test_one_odd_phone_does_not_keep_its_host_from_being_heard(fleet: Fleet) -> None:
    host = fleet.host("GOOD")
    odd = {
        "serial": "ODD",
        "state": "levitating",
        "model": "Pix\0el\ud800",
        "remedy": "r" * 10_000,
        "battery_level": 10**12,
        "labels": {"a\0": "b\0"},
        "facts": {"nan": float("nan"), "deep": [{"\0": "\udfff"}]},
    }
    again = {"serial": "ODD", "state": "offline", "battery_level": -1}
    good = {"serial": "GOOD", "state": "ready", "battery_level": 77}
    for devices in ([odd, good], [odd, again, good]):
        beat = Heartbeat.model_validate({"incarnation": host.incarnation, "devices": devices})
        heartbeat(fleet.plane, host.host_id, beat)
    shown = {device.serial: device for device in list_devices(fleet.plane).devices}
    assert (shown["GOOD"].state, shown["GOOD"].battery_level) == (DeviceState.READY, 77)
    assert (shown["ODD"].state, shown["ODD"].battery_level) == (DeviceState.OFFLINE, None)
    assert shown["ODD"].model == "Pix\N{REPLACEMENT CHARACTER}el?"


def test_a_thousand_devices_are_one_heartbeat(fleet: Fleet) -> None:
    host = fleet.host()
    devices = [ReportedDevice(serial=f"D{number}", state=DeviceState.READY) for number in range(1000)]
    for reported in (devices, devices[:10]):
        heartbeat(fleet.plane, host.host_id, Heartbeat(incarnation=host.incarnation, devices=reported))
    states = [device.state for device in list_devices(fleet.plane).devices]
    assert (states.count(DeviceState.READY), states.count(DeviceState.ABSENT)) == (10, 991)


def test_a_renewal_without_progress_keeps_what_was_known(fleet: Fleet) -> None:
    host = fleet.host()
    assignment = fleet.running(host)
    host.renew(assignment, progress={"step": 3, "text": "odd \0 text"})
    host.renew(assignment, progress=None)
    progress = fleet.show(assignment.task_id).progress
    assert progress is not None
    assert (progress.step, progress.text) == (3, "odd \N{REPLACEMENT CHARACTER} text")
