"""An emulated phone with its own notes app behind a real adb server."""

from collections.abc import AsyncIterator

import pytest

from tests.workers.agent.tools.calls import Toolbox
from tests.workers.device.connected import connected
from tests.workers.device.waiting import is_listed, until
from workers.agent.task_secrets import Secrets
from workers.device.device import Device
from workers.phone.app.description import BUILT_IN_APPS, load_apps
from workers.phone.phone import Phone
from workers.phone.server import PhoneServer

SECRETS = Secrets({"CODE": "tr0ub4dor&3", "OF_ANOTHER": "nobody's business"}, allowed=["CODE"])


@pytest.fixture(scope="session")
async def notes_server(adb_server) -> AsyncIterator[PhoneServer]:
    async with connected(Phone("NOTES", apps=load_apps([BUILT_IN_APPS])), adb_server) as server:
        yield server


@pytest.fixture
async def phone(notes_server, adb_server) -> Phone:
    """As if nobody had used it before."""
    await until(lambda: is_listed(adb_server, notes_server.address, "device"))
    notes_server.phone.faults.clear()
    notes_server.phone.display.clear_app("dev.corral.notes")
    notes_server.phone.display.go_home()
    return notes_server.phone


@pytest.fixture
async def device(phone, notes_server, adb_server) -> AsyncIterator[Device]:
    device = Device(server=adb_server, transport_serial=notes_server.address, may_touch=lambda: True)
    yield device
    await device.close()


@pytest.fixture
async def box(device) -> Toolbox:
    """The tools, with the app on the screen."""
    box = Toolbox(device, secrets=SECRETS)
    assert (await box.call("launch_app", package="dev.corral.notes")).status == "done"
    return box
