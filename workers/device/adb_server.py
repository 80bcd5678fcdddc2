"""The host's own adb server: started, watched, started again, and told again which phones to connect to."""

import asyncio
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import structlog

from workers.device.adb_process import end_process, last_log_lines, log_file, spawn_adb_server
from workers.device.call_threads import CallThreads
from workers.device.connection import TROUBLE, ask_server
from workers.device.connections import Connections
from workers.device.device_list import ListedDevice, read_device_list

log = structlog.stdlib.get_logger()

#: Whoever uses adb by hand has a server here, which is not ours.
DEFAULT_ADB_PORT = 5037

_START_SECONDS = 15.0
_START_POLL_SECONDS = 0.02
_PORT_TRIES = 3
_QUERY_SECONDS = 5.0
#: Three answers missed in a row are no hiccup: the server hangs and is replaced.
_UNANSWERED_CHECKS = 3
_RESTART_PAUSE_SECONDS = (0.0, 0.2, 1.0, 5.0)


class AdbServerFailed(Exception):
    """The adb server could not be started; the message says what it printed."""


class AdbServer:
    """A private server on a port of its own (0 picks one), for one host process.

    `addresses` are the phones to reach by `adb connect`; a server that was started again has forgotten them and is
    told again, and one that got lost is connected again.
    """

    def __init__(
        self,
        *,
        state_folder: Path,
        port: int = 0,
        addresses: Iterable[str] = (),
        finds_usb: bool = True,
        finds_emulators: bool = True,
        check_seconds: float = 2.0,
    ) -> None:
        if port == DEFAULT_ADB_PORT:
            raise ValueError(
                f"port {DEFAULT_ADB_PORT} belongs to the adb that people use by hand; choose another, or 0"
            )
        self._home = state_folder / "adb"
        self._wanted_port = port
        self._port = port
        self._finds_usb = finds_usb
        self._finds_emulators = finds_emulators
        self._check_seconds = check_seconds
        self._connections = Connections(lambda: self._port, addresses)
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self._query_threads = CallThreads("adb-query", limit=4)
        self.starts = 0

    @property
    def port(self) -> int:
        """Where it listens now; 0 before it was started."""
        return self._port

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def unreachable(self) -> dict[str, str]:
        """The addresses whose last connection attempt failed, with what adb said."""
        return dict(self._connections.unreachable)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Returns when the server answers.

        Raises:
            AdbServerFailed: the port is taken, or the server ended or stayed silent.
        """
        await self._start_process()
        await self._connections.look_after(())
        self._watch = asyncio.create_task(self._keep_running(), name="adb-server-watch")

    async def stop(self) -> None:
        """Ends the server by its process id; calls that are waiting for it fail at once."""
        tasks = self._connections.cancel()
        if self._watch is not None:
            self._watch.cancel()
            tasks.append(self._watch)
        await self._end_process()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._end_process()  # the watch may have been about to start another
        self._query_threads.close()
        self._connections.close()

    async def listed_devices(self) -> list[ListedDevice]:
        """What the server lists now.

        Raises:
            AdbError, EOFError, OSError, ValueError: the server does not answer.
        """
        return read_device_list(await self._ask("host:devices-l"))

    async def connect(self, address: str) -> str:
        """Connects to a phone over TCP, remembers it, and returns what adb says, which can be a failure."""
        return await self._connections.connect(address)

    async def disconnect(self, address: str) -> None:
        """Forgets a phone; one that was not connected is forgotten as well."""
        await self._connections.disconnect(address)

    async def _ask(self, request: str) -> str:
        return await self._query_threads.run(lambda: ask_server(self._port, request, deadline_seconds=_QUERY_SECONDS))

    async def _start_process(self) -> None:
        # A free port can be taken between the look and the start; one that was asked for is not given up.
        tries = 1 if self._wanted_port else _PORT_TRIES
        for left in range(tries - 1, -1, -1):
            self._port = self._wanted_port or _free_port()
            try:
                await self._start_on_port()
            except AdbServerFailed:
                if not left:
                    raise
            else:
                return

    async def _start_on_port(self) -> None:
        if await self._answers():
            raise AdbServerFailed(f"port {self._port} is taken by another adb server; choose another, or 0")
        self._process = await self._spawn()
        try:
            async with asyncio.timeout(_START_SECONDS):
                await self._wait_until_it_answers(self._process)
        except TimeoutError:
            await self._end_process()
            raise AdbServerFailed(f"the adb server stayed silent for {_START_SECONDS:g} s; {self._printed()}") from None
        except BaseException:
            await self._end_process()
            raise
        self.starts += 1
        log.info("adb.started", port=self._port, pid=self._process.pid)

    async def _spawn(self) -> asyncio.subprocess.Process:
        try:
            return await spawn_adb_server(
                home=self._home, port=self._port, finds_usb=self._finds_usb, finds_emulators=self._finds_emulators
            )
        except TROUBLE as trouble:
            raise AdbServerFailed(f"the adb server could not be run: {trouble}") from trouble

    async def _wait_until_it_answers(self, process: asyncio.subprocess.Process) -> None:
        while not await self._answers():
            self._check_alive(process)
            await asyncio.sleep(_START_POLL_SECONDS)
        self._check_alive(process)

    async def _end_process(self) -> None:
        if self._process is not None:
            await end_process(self._process)

    async def _answers(self) -> bool:
        try:
            await self._ask("host:version")
        except TROUBLE:
            return False
        return True

    def _check_alive(self, process: asyncio.subprocess.Process) -> None:
        if process.returncode is not None:
            raise AdbServerFailed(f"the adb server ended with code {process.returncode}; {self._printed()}")

    def _printed(self) -> str:
        return f"the end of {log_file(self._home)}: {' | '.join(last_log_lines(self._home)) or 'empty'}"

    async def _keep_running(self) -> None:
        unanswered = 0
        while True:
            if await self._has_ended():
                unanswered = 0
                await self._restart()
            try:
                await self._connections.look_after(await self.listed_devices())
            except TROUBLE as trouble:
                unanswered += 1
                log.warning("adb.unanswered", times=unanswered, said=str(trouble))
                if unanswered >= _UNANSWERED_CHECKS and self._process is not None:
                    # What hangs does not hear a polite signal.
                    self._process.kill()
            else:
                unanswered = 0

    async def _has_ended(self) -> bool:
        if self._process is None:
            return True
        try:
            await asyncio.wait_for(self._process.wait(), self._check_seconds)
        except TimeoutError:
            return False
        log.warning("adb.ended", pid=self._process.pid, exit_code=self._process.returncode)
        return True

    async def _restart(self) -> None:
        attempt = 0
        while True:
            await asyncio.sleep(_RESTART_PAUSE_SECONDS[min(attempt, len(_RESTART_PAUSE_SECONDS) - 1)])
            attempt += 1
            try:
                return await self._start_process()
            except AdbServerFailed as failed:
                log.warning("adb.not_started", attempt=attempt, said=str(failed))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
