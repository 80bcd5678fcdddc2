"""The unit and the rules of a real host, read as files."""

import configparser
from pathlib import Path

from tests.deploy.settings import is_setting
from workers.host.life import ExitCode
from workers.host.settings import HostSettings

ROOT = Path(__file__).parents[2]


class Unit(configparser.RawConfigParser):
    """Keeps the case of names, and all lines of one that is given several times."""

    def __init__(self) -> None:
        super().__init__(strict=False, delimiters=("=",), interpolation=None)
        self.optionxform = str


def service() -> configparser.SectionProxy:
    unit = Unit()
    unit.read(ROOT / "deploy/systemd/corral-host.service")
    return unit["Service"]


def test_the_unit_sets_what_there_is_to_set():
    text = (ROOT / "deploy/systemd/corral-host.service").read_text()
    variables = [line.split("=")[1] for line in text.splitlines() if line.startswith("Environment=")]
    assert len(variables) == 3
    assert [variable for variable in variables if not is_setting(variable)] == []


def test_the_unit_lets_a_drain_come_to_its_end():
    drain_limit_seconds = HostSettings.model_fields["drain_limit_seconds"].default
    assert float(service()["TimeoutStopSec"]) > drain_limit_seconds + 30
    assert service()["KillMode"] == "mixed"


def test_the_unit_does_not_restart_what_a_restart_cannot_mend():
    assert service()["Restart"] == "on-failure"
    kept = {ExitCode(int(code)) for code in service()["RestartPreventExitStatus"].split()}
    assert kept == {ExitCode.NOT_CONFIGURED, ExitCode.REPLACED}


def test_the_rules_give_phones_to_the_group_of_the_unit():
    rules = (ROOT / "deploy/udev/51-android.rules").read_text()
    group = service()["SupplementaryGroups"]
    assert rules.count(f'GROUP="{group}"') == 2
    assert '"*:ff4201:*"' in rules
