"""Which parts a stack has, and what they are told."""

import json
import socket
from pathlib import Path

import pytest

from corral.stack.layout import FLOWER_PORT, Layout, StackOptions, choose_ports
from corral.stack.parts import CorralPart
from corral.stack.ports import LOOPBACK
from corral.stack.state_folder import Ports, ReadyInfo, StackFolder, ready_json

PASSWORD = "a-password-of-flower"


def layout(folder: Path, *, has_flower: bool) -> Layout:
    options = StackOptions(has_flower=has_flower)
    ports = Ports(api=7700, phones={"phones-1": 7000}, flower=7755)
    return Layout(StackFolder(folder), options, ports, "join", PASSWORD if has_flower else None)


def services(layout: Layout) -> dict[str, CorralPart]:
    parts = layout.services(database_url="postgresql://db/corral", redis_url="redis://cache:6379/0")
    return {part.name: part for part in parts}


def test_without_flower_there_is_neither_it_nor_a_bridge(tmp_path: Path) -> None:
    without = layout(tmp_path, has_flower=False)
    assert list(services(without)) == ["api", "jobs", "beat"]
    assert without.flower_url is None
    assert choose_ports(StackOptions(), last=Ports()).flower is None


def test_flower_comes_with_a_bridge_and_keeps_its_secrets_off_the_command_line(tmp_path: Path) -> None:
    parts = services(layout(tmp_path, has_flower=True))
    assert list(parts) == ["api", "jobs", "beat", "bridge", "flower"]
    flower = parts["flower"]
    assert flower._command[1:] == ("-m", "corral", "flower")
    assert flower._env["CORRAL_FLOWER_USERS"] == f"corral:{PASSWORD}"
    assert flower._env["CORRAL_FLOWER_ADDRESS"] == LOOPBACK
    assert "CORRAL_DATABASE_URL" not in flower._env
    assert parts["bridge"]._env["CORRAL_DATABASE_URL"] == "postgresql://db/corral"


def test_flower_takes_its_usual_port_or_the_next_that_is_free() -> None:
    options = StackOptions(port=7700, phones=0, has_flower=True)
    with socket.socket() as taker:
        taker.bind((LOOPBACK, 0))
        taker.listen()
        taken = taker.getsockname()[1]
        assert choose_ports(options, last=Ports(flower=taken)).flower not in {None, taken, FLOWER_PORT}
    assert choose_ports(options, last=Ports(flower=taken)).flower == taken


@pytest.mark.parametrize("url", [None, "http://127.0.0.1:7755/"])
def test_the_ready_file_names_flower_where_it_runs(url: str | None) -> None:
    info = ReadyInfo(
        api_url="a",
        api_key="k",
        join_token="j",
        database_url="d",
        redis_url="r",
        state_dir="s",
        pids={},
        flower_url=url,
    )
    assert json.loads(ready_json(info)).get("flower_url") == url
    assert ("flower_url" in ready_json(info)) == (url is not None)
