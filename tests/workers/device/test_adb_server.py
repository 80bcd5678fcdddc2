"""The private adb server: it comes back by itself, and remembers the phones that adb forgets."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.workers.device.waiting import is_listed, until
from workers.device.adb_process import _adb_binary
from workers.device.adb_server import AdbServer, AdbServerFailed
from workers.phone.adbd.connection import LinkState
from workers.phone.phone import Phone
from workers.phone.server import serve_phone

pytestmark = pytest.mark.anyio


def own_server(tmp_path, **settings) -> AdbServer:
    return AdbServer(state_folder=tmp_path, finds_usb=False, finds_emulators=False, check_seconds=0.1, **settings)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


async def test_it_comes_back_with_its_phones_after_it_was_killed(tmp_path):
    async with (
        serve_phone(Phone("A")) as a,
        serve_phone(Phone("B")) as b,
        own_server(tmp_path, addresses=[a.address, b.address]) as server,
    ):
        await until(lambda: is_listed(server, a.address, "device"))
        os.kill(server.pid, signal.SIGKILL)
        await until(lambda: server.starts == 2)
        await until(lambda: is_listed(server, a.address, "device"))
        await until(lambda: is_listed(server, b.address, "device"))


async def test_a_server_that_hangs_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr("workers.device.adb_server._QUERY_SECONDS", 0.2)
    async with own_server(tmp_path) as server:
        os.kill(server.pid, signal.SIGSTOP)
        await until(lambda: server.starts == 2)
        assert await server.listed_devices() == []


async def test_a_phone_that_appears_late_is_connected_when_it_is_there(tmp_path):
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
    async with own_server(tmp_path, addresses=[f"127.0.0.1:{port}"]) as server:
        await until(lambda: f"127.0.0.1:{port}" in server.unreachable)
        async with serve_phone(Phone("LATE"), port=port) as phone:
            await until(lambda: is_listed(server, phone.address, "device"))
            await until(lambda: server.unreachable == {})


async def test_a_silent_phone_does_not_keep_another_from_being_connected(tmp_path):
    silent = Phone("SILENT")
    silent.link_state = LinkState.OFFLINE
    async with (
        serve_phone(silent) as hanging,
        serve_phone(Phone("FINE")) as fine,
        own_server(tmp_path, addresses=[hanging.address, fine.address]) as server,
    ):
        await until(lambda: is_listed(server, fine.address, "device"), seconds=5)


async def test_a_phone_that_stays_offline_is_connected_afresh(tmp_path, monkeypatch):
    monkeypatch.setattr("workers.device.connections._OFFLINE_SECONDS", 0.3)
    async with serve_phone(Phone("A")) as phone, own_server(tmp_path, addresses=[phone.address]) as server:
        await until(lambda: is_listed(server, phone.address, "device"))
        phone.phone.link_state = LinkState.OFFLINE
        await until(lambda: is_listed(server, phone.address, "offline"))
        await until(lambda: is_not_listed(server, phone.address))
        phone.phone.link_state = LinkState.DEVICE
        await until(lambda: is_listed(server, phone.address, "device"), seconds=20)


async def is_not_listed(server, address: str) -> bool:
    return address not in {listed.transport_serial for listed in await server.listed_devices()}


async def test_stopping_ends_its_process_and_no_other(tmp_path):
    one, other = own_server(tmp_path / "one"), own_server(tmp_path / "other")
    await one.start()
    await other.start()
    await one.stop()
    assert not is_alive(one.pid)
    assert await other.listed_devices() == []
    await other.stop()


async def test_another_adb_cannot_kill_it(tmp_path):
    async with own_server(tmp_path) as server:
        killing = await asyncio.create_subprocess_exec(
            _adb_binary(), "-P", str(server.port), "kill-server", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        await killing.wait()
        assert await server.listed_devices() == []
        assert server.starts == 1


async def test_it_listens_on_loopback_only(tmp_path):
    async with own_server(tmp_path) as server:
        assert _listening_at(server.port) == [f"0100007F:{server.port:04X}"]


def _listening_at(port: int) -> list[str]:
    listening = "0A"
    sockets = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [local for _, local, _, state, *_ in sockets if state == listening and local.endswith(f":{port:04X}")]


async def test_its_keys_and_its_log_are_in_the_state_folder(tmp_path):
    async with own_server(tmp_path):
        assert (tmp_path / "adb" / "adb.log").exists()
        assert (tmp_path / "adb" / ".android").is_dir()


async def test_a_taken_port_is_an_error_that_says_so(tmp_path):
    async with own_server(tmp_path / "one") as server:
        with pytest.raises(AdbServerFailed, match=f"port {server.port} is taken"):
            await own_server(tmp_path / "other", port=server.port).start()


async def test_a_port_taken_by_something_else_is_an_error_that_shows_what_adb_said(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(AdbServerFailed, match="ended with code"):
            await own_server(tmp_path, port=taken.getsockname()[1]).start()


async def test_a_state_folder_that_cannot_be_written_is_an_error_that_says_so(tmp_path):
    (tmp_path / "adb").write_text("a file, not a folder")
    with pytest.raises(AdbServerFailed, match="could not be run"):
        await own_server(tmp_path).start()


def test_the_port_of_everybody_is_refused(tmp_path):
    with pytest.raises(ValueError, match="5037"):
        own_server(tmp_path, port=5037)


async def test_it_dies_with_a_host_that_was_killed(tmp_path):
    host = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOST, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    pid = int(await host.stdout.readline())
    assert is_alive(pid)
    host.kill()
    await host.wait()
    await until(lambda: not is_alive(pid))


HOST = textwrap.dedent("""
    import asyncio, pathlib, sys, logging, structlog
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    from workers.device.adb_server import AdbServer
    async def main():
        server = AdbServer(state_folder=pathlib.Path(sys.argv[1]), finds_usb=False, finds_emulators=False)
        await server.start()
        print(server.pid, flush=True)
        await asyncio.sleep(60)
    asyncio.run(main())
""")
