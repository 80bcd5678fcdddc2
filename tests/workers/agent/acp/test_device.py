from pathlib import Path

import pytest

from workers.agent.acp.device import NoSuchDevice, opened_device
from workers.phone.adbd.connection import LinkState
from workers.phone.app.description import BUILT_IN_APPS, load_apps
from workers.phone.fleet import serve_phones


@pytest.fixture(scope="module")
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="module")
async def two_phones(anyio_backend):
    async with serve_phones(count=2, apps=load_apps([Path(BUILT_IN_APPS)])) as fleet:
        yield fleet


pytestmark = pytest.mark.anyio


def opening(serial, tmp_path, addresses, *, find_seconds=10.0):
    return opened_device(
        serial, state_folder=tmp_path, addresses=addresses, finds_phones=False, find_seconds=find_seconds
    )


async def test_a_device_is_opened_by_its_serial(two_phones, tmp_path):
    async with opening("CORRAL0002", tmp_path, two_phones.addresses) as device:
        assert device.transport_serial == two_phones.addresses[1]
        assert (await device.observe()).width_px > 0


async def test_the_only_device_needs_no_name(two_phones, tmp_path):
    async with opening(None, tmp_path, two_phones.addresses[:1]) as device:
        assert device.transport_serial == two_phones.addresses[0]


async def test_one_of_several_must_be_named(two_phones, tmp_path):
    with pytest.raises(NoSuchDevice, match="there are several devices: CORRAL0001, CORRAL0002; name one"):
        async with opening(None, tmp_path, two_phones.addresses):
            pass


async def test_a_device_that_is_not_there_is_named_with_those_that_are(two_phones, tmp_path):
    with pytest.raises(NoSuchDevice, match=r"device R5CT was not found in 1 s; there is CORRAL0001"):
        async with opening("R5CT", tmp_path, two_phones.addresses[:1], find_seconds=1):
            pass


async def test_without_any_device_it_says_so(tmp_path):
    with pytest.raises(NoSuchDevice, match=r"no device was found in 0.3 s"):
        async with opening(None, tmp_path, [], find_seconds=0.3):
            pass


async def test_a_device_that_is_not_ready_is_told_with_what_to_do(tmp_path):
    async with serve_phones(count=1, apps=[]) as fleet:
        fleet.phones[0].link_state = LinkState.UNAUTHORIZED
        with pytest.raises(NoSuchDevice, match="is unauthorized: Unlock the phone"):
            async with opening(None, tmp_path, fleet.addresses, find_seconds=1.5):
                pass
