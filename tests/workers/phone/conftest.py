"""One real adb server for each test process, and phones that are connected to it."""

import os
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from adbutils import AdbClient, AdbDevice, adb_path

from workers.phone.app.description import BUILT_IN_APPS, AppDescription, load_apps
from workers.phone.fleet import phones
from workers.phone.hierarchy import hierarchy_xml
from workers.phone.phone import Phone

APPS_FOR_TESTS = Path(__file__).parents[2] / "apps"
DEADLINE_SECONDS = 10.0


def until(condition: Callable[[], object]) -> None:
    """Waits for a condition; fails when the deadline is over."""
    ends_at = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < ends_at, "the condition did not come true in time"
        time.sleep(0.01)


@dataclass(frozen=True)
class Adb:
    """The `adb` command line, against a server of our own."""

    port: int
    environment: dict[str, str]

    def run(self, *words: str, stdin: bytes = b"", serial: str = "") -> subprocess.CompletedProcess[bytes]:
        command = [adb_path(), "-P", str(self.port), *(["-s", serial] if serial else []), *words]
        return subprocess.run(
            command, input=stdin, env=self.environment, capture_output=True, timeout=DEADLINE_SECONDS, check=False
        )

    @property
    def client(self) -> AdbClient:
        return AdbClient(host="127.0.0.1", port=self.port)

    def state(self, serial: str) -> str:
        lines = self.run("devices").stdout.decode().splitlines()
        return next((line.split("\t")[1] for line in lines if line.startswith(serial + "\t")), "absent")


@pytest.fixture(scope="session")
def adb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adb]:
    home = tmp_path_factory.mktemp("adb")
    # Looking for phones elsewhere costs three seconds and finds none of ours.
    environment = {**os.environ, "HOME": str(home), "ADB_MDNS": "0", "ADB_USB": "0", "ADB_EMU": "0"}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (home / "server.log").open("wb") as log:
        server = subprocess.Popen([adb_path(), "-P", str(port), "nodaemon", "server"], env=environment, stderr=log)
    adb = Adb(port, environment)
    until(lambda: b"List of devices" in adb.run("devices").stdout)
    yield adb
    server.terminate()
    server.wait()


@dataclass(frozen=True)
class Connected:
    """A phone and the ways to it."""

    adb: Adb
    phone: Phone
    address: str

    @property
    def device(self) -> AdbDevice:
        return self.adb.client.device(serial=self.address)

    def run(self, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return self.adb.run(*words, stdin=stdin, serial=self.address)

    def is_in_state(self, state: str) -> bool:
        return self.adb.state(self.address) == state


@pytest.fixture(scope="session")
def apps() -> list[AppDescription]:
    return load_apps([BUILT_IN_APPS, APPS_FOR_TESTS])


@pytest.fixture
def connected(adb: Adb, apps: list[AppDescription]) -> Iterator[Connected]:
    with phones(count=1, apps=apps) as fleet:
        connected = Connected(adb, fleet.phones[0], fleet.addresses[0])
        adb.run("connect", connected.address)
        until(lambda: connected.is_in_state("device"))
        yield connected
        adb.run("disconnect", connected.address)


@pytest.fixture
def phone(apps: list[AppDescription]) -> Phone:
    """A phone without a cable: for what needs no adb."""
    return Phone(apps=apps)


class Hands:
    """Finds things on a phone by what is written on them, and touches them."""

    def __init__(self, phone: Phone, package: str) -> None:
        self.phone = phone
        phone.display.start_app(package)

    def find(self, words: str):
        """The first thing with this text, hint, description or id."""
        return next((node for node in self.phone.display.frame().walk() if words in _names(node)), None)

    def sees(self, words: str) -> bool:
        return self.find(words) is not None

    def middle(self, words: str) -> tuple[int, int]:
        node = self.find(words)
        assert node is not None, f"{words!r} is not on the screen: {self.texts()}"
        return (node.bounds.left + node.bounds.right) // 2, (node.bounds.top + node.bounds.bottom) // 2

    def tap(self, words: str) -> None:
        self.phone.touch.press(self.middle(words))

    def hold(self, words: str) -> None:
        self.phone.touch.press(self.middle(words), held_ms=800)

    def type(self, text: str) -> None:
        self.phone.keypad.type_text(text)

    def press(self, key: str) -> None:
        self.phone.keypad.press(key)

    def swipe(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        self.phone.touch.swipe(start, end, duration_ms=400)

    def texts(self) -> list[str]:
        return [node.text for node in self.phone.display.frame().walk() if node.text]

    def xml(self) -> str:
        return hierarchy_xml(self.phone.display.frame())


def _names(node) -> set[str]:
    return {node.text, node.hint, node.desc, re.sub(r"^.*:id/", "", node.resource_id)} - {""}


@pytest.fixture
def notes(phone: Phone) -> Hands:
    return Hands(phone, "dev.corral.notes")


@pytest.fixture
def example(phone: Phone) -> Hands:
    return Hands(phone, "com.example.example")
