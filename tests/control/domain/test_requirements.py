"""Which device suits a task."""

import pytest
from pydantic import ValidationError

from control.domain.requirements import device_labels, is_met, requirement_class, unmet
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
        (requirement("model", "ne", "Pixel 8"), False),
        (requirement("model", "ne", "Pixel 9"), True),
        (requirement("manufacturer", "ne", "Google"), True),
        (requirement("site", "not_in", ["berlin", "paris"]), False),
        (requirement("site", "not_in", ["paris"]), True),
        (requirement("manufacturer", "not_in", ["Google"]), True),
        (requirement("manufacturer", "in", ["Google"]), False),
        (requirement("android_version", "ge", "15"), True),
        (requirement("android_version", "ge", "9"), True),
        (requirement("android_version", "ge", "15.0.1"), False),
        (requirement("android_version", "le", "15.0"), True),
        (requirement("android_version", "le", "9"), False),
        (requirement("manufacturer", "ge", "0"), False),
        (requirement("manufacturer", "le", "99"), False),
        (requirement("team", "ge", "0"), False),
    ],
)
def test_a_condition_looks_at_the_labels_of_device_and_host(wanted: Requirement, is_met: bool) -> None:
    assert (unmet([wanted], PIXEL) == []) is is_met


def test_the_same_conditions_in_any_order_are_one_class() -> None:
    first, second = requirement("model", value="Pixel 8"), requirement("team", "exists")
    assert requirement_class([first, second]) == requirement_class([second, first, first])
    assert requirement_class([first]) != requirement_class([second])
    assert requirement_class([]) != requirement_class([first])
    one, same = requirement("site", "in", ["paris", "rome"]), requirement("site", "in", ["rome", "paris", "rome"])
    assert requirement_class([one]) == requirement_class([same])
    assert requirement_class([one]) != requirement_class([requirement("site", "not_in", ["paris", "rome"])])


@pytest.mark.parametrize(
    ("lower", "higher"), [("9", "14"), ("12", "12.1"), ("12.9", "12.10"), ("7.1.1", "7.1.2"), ("0", "0.1"), ("08", "9")]
)
def test_versions_compare_number_by_number(lower: str, higher: str) -> None:
    assert is_met(requirement("v", "ge", lower), {"v": higher})
    assert is_met(requirement("v", "le", higher), {"v": lower})
    assert not is_met(requirement("v", "ge", higher), {"v": lower})
    assert not is_met(requirement("v", "le", lower), {"v": higher})


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (requirement("model", "eq", "Pixel 9"), "model=Pixel 9"),
        (requirement("model", "ne", "Pixel 9"), "model!=Pixel 9"),
        (requirement("model", "in", ["Pixel 8", "Pixel 9"]), "model in Pixel 8, Pixel 9"),
        (requirement("model", "not_in", ["Pixel 8", "Pixel 9"]), "model not in Pixel 8, Pixel 9"),
        (requirement("android_version", "ge", "12.1"), "android_version>=12.1"),
        (requirement("android_version", "le", "14"), "android_version<=14"),
        (requirement("sim", "exists"), "has sim"),
    ],
)
def test_a_condition_is_told_in_words(wanted: Requirement, words: str) -> None:
    assert wanted.describe() == words


@pytest.mark.parametrize(
    "wrong",
    [
        {"label": "model"},
        {"label": "model", "op": "in", "value": "Pixel 8"},
        {"label": "model", "op": "in", "value": []},
        {"label": "model", "op": "exists", "value": "x"},
        {"label": "model", "op": "like", "value": "x"},
        {"label": "-", "value": "x"},
        {"label": "model", "op": "ne"},
        {"label": "model", "op": "ne", "value": ["Pixel 8"]},
        {"label": "model", "op": "not_in", "value": "Pixel 8"},
        {"label": "android_version", "op": "ge", "value": ["12"]},
        {"label": "android_version", "op": "le", "value": ""},
        {"label": "android_version", "op": "le", "value": "12."},
        {"label": "android_version", "op": "ge", "value": "1" * 200},
    ],
)
def test_a_condition_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Requirement.model_validate(wrong)


def test_a_text_that_is_no_version_is_refused_with_an_example() -> None:
    with pytest.raises(ValidationError, match=r"op 'ge' needs a number or a version as its value, such as \"14\""):
        Requirement.model_validate({"label": "android_version", "op": "ge", "value": "twelve"})
