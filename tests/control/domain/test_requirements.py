"""Which device suits a task."""

import pytest
from pydantic import ValidationError

from control.domain.requirements import device_labels, requirement_class, unmet
from corral.contract.tasks import Requirement

PIXEL = device_labels(
    {
        "host_name": "rack-1",
        "host_labels": {"site": "berlin", "model": "a lie"},
        "host_commands": ["back", "goal"],
        "serial": "8A1X",
        "labels": {"team": "checkout"},
        "model": "Pixel 8",
        "manufacturer": None,
        "android_version": "15",
    }
)


def requirement(label: str, op: str = "eq", value: object = None) -> Requirement:
    return Requirement.model_validate({"label": label, "op": op, "value": value})


@pytest.mark.parametrize(
    ("wanted", "is_met"),
    [
        (requirement("model", value="Pixel 8"), True),
        (requirement("model", value="a lie"), False),
        (requirement("site", "in", ["paris", "berlin"]), True),
        (requirement("site", "in", ["paris"]), False),
        (requirement("team", "exists"), True),
        (requirement("manufacturer", "exists"), False),
        (requirement("host", value="rack-1"), True),
        (requirement("serial", value="8A1X"), True),
        (requirement("goals", "exists"), True),
    ],
)
def test_a_condition_looks_at_the_labels_of_device_and_host(wanted: Requirement, is_met: bool) -> None:
    assert (unmet([wanted], PIXEL) == []) is is_met


def test_the_same_conditions_in_any_order_are_one_class() -> None:
    first, second = requirement("model", value="Pixel 8"), requirement("team", "exists")
    assert requirement_class([first, second]) == requirement_class([second, first, first])
    assert requirement_class([first]) != requirement_class([second])
    assert requirement_class([]) != requirement_class([first])


@pytest.mark.parametrize(
    "wrong",
    [
        {"label": "model"},
        {"label": "model", "op": "in", "value": "Pixel 8"},
        {"label": "model", "op": "in", "value": []},
        {"label": "model", "op": "exists", "value": "x"},
        {"label": "model", "op": "like", "value": "x"},
        {"label": "-", "value": "x"},
    ],
)
def test_a_condition_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Requirement.model_validate(wrong)
