"""The entry point of a host process."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Generator
from contextlib import contextmanager
from importlib.metadata import version

import structlog
from pydantic import ValidationError

from corral.failpoints import order_from_environment
from corral.flow.commands.union import SUPPORTED_COMMANDS
from workers.assignment.executor import AssignmentExecutor
from workers.assignment.spool import Spool
from workers.control_client.client import ControlClient
from workers.device.adb_server import AdbServer, AdbServerFailed
from workers.device.discovery import DeviceWatcher
from workers.host.adb_fleet import AdbFleet
from workers.host.host import Host
from workers.host.life import ExitCode, HostLife
from workers.host.log_output import write_log
from workers.host.registration import NotConfigured, identify_host
from workers.host.settings import HostSettings
from workers.host.state_folder import CredentialUnreadable, StateFolder, StateFolderInUse

_EXIT_CODES: dict[type[Exception], ExitCode] = {
    NotConfigured: ExitCode.NOT_CONFIGURED,
    CredentialUnreadable: ExitCode.NOT_CONFIGURED,
    StateFolderInUse: ExitCode.STATE_FOLDER_IN_USE,
    AdbServerFailed: ExitCode.ADB_FAILED,
}

log = structlog.get_logger()


def main() -> int:
    """Read the settings from the environment and run a host with them; returns the exit code."""
    order_from_environment()
    try:
        settings = HostSettings()  # pyright: ignore[reportCallIssue] - the environment fills it
    except ValidationError as error:
        sys.stderr.write(f"the settings of this host are not complete:\n{error}\n")
        return ExitCode.NOT_CONFIGURED
    write_log(log_format=settings.log_format, log_level=settings.log_level)
    return asyncio.run(run_host(settings))


async def run_host(settings: HostSettings) -> int:
    """Run a host until it has drained; returns the exit code.

    The first SIGTERM or SIGINT drains, the second stops at the next boundaries.
    """
    return await exit_code_of(_run_locked(settings))


async def exit_code_of(run: Awaitable[int]) -> int:
    """The exit code of a run, also of one that could not start: the log says why."""
    try:
        return await run
    except tuple(_EXIT_CODES) as error:
        log.error("host.not_started", error=str(error))  # noqa: TRY400 - the message says all that can be done
        return _EXIT_CODES[type(error)]


async def _run_locked(settings: HostSettings) -> int:
    life, folder = HostLife(), StateFolder(settings.state_dir)
    with folder.locked(), end_by_signals(life):
        return await _run_in_folder(settings, folder, life)


async def _run_in_folder(settings: HostSettings, folder: StateFolder, life: HostLife) -> int:
    corral_version = version("corral")
    identity = await identify_host(settings, folder, version=corral_version, life=life)
    if identity is None:
        return life.exit_code
    log.info("host.started", host_id=str(identity.host_id), name=settings.name, state_dir=str(settings.state_dir))
    async with (
        ControlClient(settings.api_url, host_id=identity.host_id, credential=identity.credential) as client,
        AdbServer(state_folder=folder.path, port=settings.adb_port, addresses=settings.adb_connect) as server,
        DeviceWatcher(server) as watcher,
    ):
        fleet = AdbFleet(server, watcher)
        host = Host(
            client=client,
            fleet=fleet,
            execution=AssignmentExecutor(fleet.open_device),
            spool=Spool(folder.spool_path),
            life=life,
            drain_limit_seconds=settings.drain_limit_seconds,
            labels=settings.labels,
            version=corral_version,
            supported_commands=sorted(SUPPORTED_COMMANDS),
        )
        return await host.run()


@contextmanager
def end_by_signals(life: HostLife) -> Generator[None]:
    """While the block runs, the first SIGTERM or SIGINT drains the host, and the second stops it."""

    def note() -> None:
        (life.stop_now if life.draining.is_set() else life.drain)()

    loop = asyncio.get_running_loop()
    numbers = (signal.SIGTERM, signal.SIGINT)
    for number in numbers:
        loop.add_signal_handler(number, note)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


if __name__ == "__main__":
    sys.exit(main())
