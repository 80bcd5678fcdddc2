"""How a host finds out who it is."""

import asyncio
import stat

import pytest

from tests.workers.host.far_side import HOST_ID, FarSide, Page, until
from workers.host.life import HostLife
from workers.host.registration import NotConfigured, identify_host
from workers.host.settings import HostSettings
from workers.host.state_folder import CredentialUnreadable, StateFolder

pytestmark = pytest.mark.anyio


def settings_for(far_side: FarSide, **fields) -> HostSettings:
    return HostSettings(api_url=far_side.url, **fields)


async def identify(far_side, folder, *, life=None, **fields):
    settings = settings_for(far_side, **fields)
    return await identify_host(settings, folder, version="1", life=life or HostLife())


@pytest.fixture
def folder(tmp_path) -> StateFolder:
    return StateFolder(tmp_path)


async def test_a_host_enrols_once_and_remembers(far_side, folder):
    first = await identify(far_side, folder, join_token="join", name="shelf", labels={"site": "here"})
    again = await identify(far_side, folder)
    assert first == again
    assert first.host_id == HOST_ID
    [call] = far_side.made("register")
    assert (call.body["name"], call.body["labels"]) == ("shelf", {"site": "here"})


async def test_the_credential_is_for_the_owners_eyes_only(far_side, folder):
    await identify(far_side, folder, join_token="join")
    assert stat.S_IMODE(folder.credential_path.stat().st_mode) == 0o600


@pytest.mark.parametrize("fields", [{}, {"join_token": ""}])
async def test_a_host_without_credential_and_join_token_says_what_it_needs(far_side, folder, fields):
    with pytest.raises(NotConfigured, match="set CORRAL_JOIN_TOKEN"):
        await identify(far_side, folder, **fields)


async def test_a_join_token_that_is_refused_ends_the_start(far_side, folder):
    body = '{"type":"t","title":"t","status":401,"code":"unauthenticated","detail":"unknown join token"}'
    far_side.always["register"] = Page(401, body)
    with pytest.raises(NotConfigured, match="unknown join token"):
        await identify(far_side, folder, join_token="wrong")


async def test_a_host_waits_for_a_control_plane_that_starts_later(far_side, folder):
    far_side.order("register", Page(502), Page(401))
    assert await identify(far_side, folder, join_token="join")
    assert len(far_side.made("register")) == 3


async def test_a_host_that_is_told_to_end_waits_no_longer(far_side, folder):
    far_side.always["register"] = Page(502)
    life = HostLife()
    waiting = asyncio.create_task(identify(far_side, folder, life=life, join_token="join"))
    await until(lambda: far_side.made("register"))
    life.drain()
    assert await waiting is None


async def test_a_credential_that_cannot_be_read_is_named(far_side, folder):
    folder.credential_path.write_text("{")
    with pytest.raises(CredentialUnreadable, match=r"credential\.json"):
        await identify(far_side, folder, join_token="join")
