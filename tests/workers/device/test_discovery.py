"""Which devices a host has, while phones come, go, flap and hang."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from corral.contract.fleet import DeviceState
from tests.workers.device.waiting import until
from workers.device.adb_server import AdbServer
from workers.device.discovery import DeviceWatcher
from workers.phone.adbd.connection import LinkState
from workers.phone.faults import Fault, FaultKind
from workers.phone.phone import Phone
from workers.phone.server import PhoneServer, serve_phone

pytestmark = pytest.mark.anyio


class Fleet:
    """An adb server and a watcher of a test's own, so that no other test's phones are seen."""

    def __init__(self, server: AdbServer, watcher: DeviceWatcher, stack: AsyncExitStack) -> None:
        self.server = server
        self.watcher = watcher
        self._stack = stack

    async def plug_in(self, phone: Phone, *, port: int = 0) -> PhoneServer:
        served = await self._stack.enter_async_context(serve_phone(phone, port=port))
        asyncio.get_running_loop().call_soon(asyncio.ensure_future, self.server.connect(served.address))
        return served

    def states(self) -> dict[str, DeviceState]:
        return {facts.device_serial: facts.state for facts in self.watcher.devices()}

    async def become(self, **states: DeviceState) -> None:
        try:
            await until(lambda: self.states() == states)
        except TimeoutError:
            pytest.fail(f"the devices are {self.states()}, not {states}")


@pytest.fixture
async def fleet(tmp_path) -> AsyncIterator[Fleet]:
    server = AdbServer(state_folder=tmp_path, finds_usb=False, finds_emulators=False, check_seconds=0.1)
    watcher = DeviceWatcher(server, poll_seconds=0.05, refresh_seconds=0.3, retry_seconds=0.2, flap_seconds=0.5)
    async with AsyncExitStack() as stack, server, watcher:
        yield Fleet(server, watcher, stack)


async def test_a_phone_is_ready_with_all_its_facts(fleet):
    served = await fleet.plug_in(Phone("A1", model="Corral Phone"))
    await fleet.become(A1=DeviceState.READY)
    (facts,) = fleet.watcher.devices()
    assert (facts.device_serial, facts.transport_serial, facts.serial_note) == ("A1", served.address, None)
    assert (facts.model, facts.manufacturer, facts.android_version, facts.sdk) == ("Corral Phone", "Corral", "15", 35)
    assert (facts.width_px, facts.height_px) == (1080, 2400)
    assert (facts.battery_level, facts.battery_temperature_celsius) == (87, 26.8)
    assert facts.remedy is None


async def test_the_battery_is_kept_current(fleet):
    phone = Phone("A1")
    await fleet.plug_in(phone)
    await fleet.become(A1=DeviceState.READY)
    phone.battery.level_percent = 12
    await until(lambda: fleet.watcher.devices()[0].battery_level == 12)


async def test_one_bad_device_does_not_hide_the_others(fleet):
    unauthorized = Phone("BAD")
    unauthorized.link_state = LinkState.UNAUTHORIZED
    bad = await fleet.plug_in(unauthorized)
    await fleet.plug_in(Phone("GOOD"))
    await fleet.become(**{"GOOD": DeviceState.READY, bad.address: DeviceState.UNAUTHORIZED})
    remedies = {facts.device_serial: facts.remedy for facts in fleet.watcher.devices()}
    assert "Allow USB debugging" in remedies[bad.address]


async def test_a_hanging_phone_holds_up_no_other_and_says_that_it_hangs(fleet, monkeypatch):
    monkeypatch.setattr("workers.device.facts.DEADLINE_SECONDS", 0.6)
    hanging = Phone("HANGS")
    hanging.faults.add(Fault(FaultKind.HANG, match="getprop*", times=None))
    served = await fleet.plug_in(hanging)
    await fleet.plug_in(Phone("GOOD"))
    await fleet.become(GOOD=DeviceState.READY)
    await fleet.become(**{"GOOD": DeviceState.READY, served.address: DeviceState.UNKNOWN})
    hanging.faults.clear()
    await fleet.become(GOOD=DeviceState.READY, HANGS=DeviceState.READY)


async def test_a_phone_that_flaps_is_registered_once(fleet):
    served = await fleet.plug_in(Phone("A1"))
    await fleet.become(A1=DeviceState.READY)
    seen: set[tuple[str, ...]] = set()
    watching = asyncio.create_task(_collect(fleet, seen))
    for _ in range(5):
        served.drop_connections()
        await asyncio.sleep(0.1)
    await fleet.become(A1=DeviceState.READY)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    assert seen == {("A1",)}


async def test_a_phone_that_is_on_its_way_is_not_shown_under_the_name_of_its_transport(fleet):
    phone = Phone("A1")
    phone.link_state = LinkState.AUTHORIZING
    seen: set[tuple[str, ...]] = set()
    watching = asyncio.create_task(_collect(fleet, seen))
    served = await fleet.plug_in(phone)
    await until(lambda: served.address in fleet.watcher._known)
    phone.link_state = LinkState.DEVICE
    await fleet.become(A1=DeviceState.READY)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    assert seen <= {(), ("A1",)}


async def test_a_phone_that_waits_for_its_owner_is_shown_after_a_while(fleet):
    phone = Phone("A1")
    phone.link_state = LinkState.AUTHORIZING
    served = await fleet.plug_in(phone)
    await fleet.become(**{served.address: DeviceState.AUTHORIZING})
    phone.link_state = LinkState.DEVICE
    await fleet.become(A1=DeviceState.READY)


async def _collect(fleet: Fleet, seen: set[tuple[str, ...]]) -> None:
    while True:
        seen.add(tuple(fleet.states()))
        await asyncio.sleep(0.01)


async def test_an_unplugged_phone_is_offline_at_first_and_absent_after_a_while(fleet):
    served = await fleet.plug_in(Phone("A1"))
    await fleet.become(A1=DeviceState.READY)
    await fleet.server.disconnect(served.address)
    await fleet.become(A1=DeviceState.OFFLINE)
    await fleet.become(A1=DeviceState.ABSENT)


async def test_a_phone_that_comes_back_another_way_is_the_same_device(fleet):
    phone = Phone("A1")
    first = await fleet.plug_in(phone)
    await fleet.become(A1=DeviceState.READY)
    await fleet.server.disconnect(first.address)
    second = await fleet.plug_in(phone)
    await until(lambda: fleet.watcher.devices()[0].transport_serial == second.address)
    await fleet.become(A1=DeviceState.READY)


async def test_two_phones_with_one_serial_number_get_names_of_their_own_and_say_so(fleet):
    one, other = await fleet.plug_in(Phone("CLONE")), await fleet.plug_in(Phone("CLONE"))
    await fleet.become(**{one.address: DeviceState.READY, other.address: DeviceState.READY})
    assert all("CLONE" in facts.serial_note for facts in fleet.watcher.devices())
    await fleet.server.disconnect(other.address)
    await fleet.become(**{one.address: DeviceState.READY, other.address: DeviceState.ABSENT})


async def test_a_phone_without_a_serial_number_is_named_by_its_transport_and_says_so(fleet):
    served = await fleet.plug_in(Phone(""))
    await fleet.become(**{served.address: DeviceState.READY})
    assert "no serial number" in fleet.watcher.devices()[0].serial_note


async def test_another_phone_at_the_same_address_is_another_device(fleet):
    served = await fleet.plug_in(Phone("FIRST"))
    await fleet.become(FIRST=DeviceState.READY)
    served.phone.serial = "SECOND"
    served.drop_connections()
    await fleet.become(SECOND=DeviceState.READY)


async def test_phones_are_ready_again_after_the_adb_server_died(fleet):
    await fleet.plug_in(Phone("A1"))
    await fleet.become(A1=DeviceState.READY)
    fleet.server._process.kill()
    await until(lambda: fleet.server.starts == 2)
    await fleet.become(A1=DeviceState.READY)


async def test_a_change_wakes_whoever_waits_for_one(fleet):
    waiting = asyncio.create_task(fleet.watcher.wait_for_change())
    await fleet.plug_in(Phone("A1"))
    async with asyncio.timeout(5):
        assert [facts.device_serial for facts in await waiting] == ["A1"]
