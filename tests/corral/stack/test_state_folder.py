import socket
import stat
from pathlib import Path

import pytest

from corral.stack.layout import StackOptions, choose_ports
from corral.stack.ports import LOOPBACK, free_port, is_free, usual_port
from corral.stack.state_folder import (
    Ports,
    Secrets,
    StackFolder,
    StateFolderDamaged,
    StateFolderInUse,
)


@pytest.fixture
def folder(tmp_path: Path) -> StackFolder:
    return StackFolder(tmp_path / "state")


def test_a_folder_is_held_by_one_at_a_time(folder: StackFolder) -> None:
    second = StackFolder(folder.path)
    with folder.locked(), pytest.raises(StateFolderInUse, match=r"as process \d+"), second.locked():
        pass
    with folder.locked():
        pass


def test_secrets_stay_and_are_for_the_owner_alone(folder: StackFolder) -> None:
    with folder.locked():
        assert folder.secrets(Secrets(join_token="a")).join_token == "a"
        folder.keep_secrets(Secrets(join_token="b", api_key="k"))
        assert folder.secrets(Secrets(join_token="a")) == Secrets(join_token="b", api_key="k")
    assert stat.S_IMODE((folder.path / "secrets.json").stat().st_mode) == 0o600


def test_a_damaged_file_is_named(folder: StackFolder) -> None:
    with folder.locked():
        (folder.path / "ports.json").write_text("{")
        with pytest.raises(StateFolderDamaged, match=r"ports\.json"):
            folder.ports()


def test_nothing_runs_on_a_folder_that_nobody_used(folder: StackFolder) -> None:
    assert folder.running() is None


def test_ports_stay_the_same_while_nobody_takes_them() -> None:
    options = StackOptions(port=0, phones=5, hosts=2)
    first = choose_ports(options, last=Ports())
    assert choose_ports(options, last=first) == first
    with socket.socket() as taker:
        taker.bind((LOOPBACK, first.phones["phones-1"] + 2))
        taker.listen()
        second = choose_ports(options, last=first)
    assert second.phones["phones-1"] != first.phones["phones-1"]
    assert second.phones["phones-2"] == first.phones["phones-2"]
    assert second.api == first.api


def test_a_port_that_was_asked_for_is_kept() -> None:
    assert choose_ports(StackOptions(port=7700), last=Ports(api=7701)).api == 7700


def test_ports_in_a_row_are_all_free() -> None:
    first = usual_port(None, count=4)
    assert all(is_free(first + offset) for offset in range(4))
    assert is_free(free_port())


@pytest.mark.parametrize(
    ("phones", "hosts", "groups"),
    [
        (5, 2, {"phones-1": 3, "phones-2": 2}),
        (1, 2, {"phones-1": 1}),
        (0, 2, {}),
        (0, 0, {}),
    ],
)
def test_hosts_share_the_phones(phones: int, hosts: int, groups: dict[str, int]) -> None:
    assert StackOptions(phones=phones, hosts=hosts).phone_groups() == groups
