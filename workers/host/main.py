"""The entry point of a host process."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.metadata import version

import structlog

from corral.contract.goals import AGENT_LABEL
from corral.contract.tasks import TaskKind
from corral.environment import SettingsInvalid, settings_from_environment
from corral.failpoints import order_from_environment
from corral.flow.commands.union import SUPPORTED_COMMANDS
from corral.logs import configure_logs
from corral.metrics_server import metrics_served
from corral.traces.switch import TracesNotPossible, configure_traces, end_traces
from workers.assignment.executor import AssignmentExecutor
from workers.assignment.goal_execution import GoalEquipment
from workers.assignment.spool import Spool
from workers.control_client.client import ControlClient
from workers.device.adb_server import AdbServer, AdbServerFailed
from workers.device.discovery import DeviceWatcher
from workers.host.adb_fleet import AdbFleet
from workers.host.equipment import goal_equipment
from workers.host.host import Host
from workers.host.life import CannotStart, ExitCode, HostLife, exit_code_of
from workers.host.registration import identify_host
from workers.host.settings import HostSettings
from workers.host.signals import end_by_signals
from workers.host.state_folder import StateFolder

log = structlog.get_logger()


class AdbUnusable(CannotStart):
    """The host's own adb server could not be started; the message says what it printed."""

    exit_code = ExitCode.ADB_FAILED


def main() -> int:
    """Read the settings from the environment and run a host with them; returns the exit code."""
    order_from_environment()
    try:
        settings = settings_from_environment(HostSettings)
    except SettingsInvalid as error:
        sys.stderr.write(f"settings of this host are missing or wrong:\n{error}\n")
        return ExitCode.NOT_CONFIGURED
    configure_logs(log_format=settings.log_format, log_level=settings.log_level)
    try:
        configure_traces("corral-host")
    except TracesNotPossible as trouble:
        sys.stderr.write(f"{trouble}\n")
        return ExitCode.NOT_CONFIGURED
    try:
        with metrics_served(settings.metrics_port, settings.metrics_address):
            return asyncio.run(run_host(settings))
    finally:
        end_traces()


async def run_host(settings: HostSettings) -> int:
    """Run a host until it has drained; returns the exit code.

    The first SIGTERM or SIGINT drains, the second stops at the next boundaries.
    """
    return await exit_code_of(_run_locked(settings))


async def _run_locked(settings: HostSettings) -> int:
    life, folder = HostLife(), StateFolder(settings.state_dir)
    with folder.locked(), end_by_signals(life):
        # Before the host enrols: what its settings name and is not there would leave a dead host behind.
        async with goal_equipment(settings, folder) as equipment:
            return await _run_in_folder(settings, folder, life, equipment)


async def _run_in_folder(settings: HostSettings, folder: StateFolder, life: HostLife, equipment: GoalEquipment) -> int:
    corral_version = version("corral")
    identity = await identify_host(settings, folder, version=corral_version, life=life)
    if identity is None:
        return life.exit_code
    log.info("host.started", host_id=str(identity.host_id), name=settings.name, state_dir=str(settings.state_dir))
    async with (
        ControlClient(settings.api_url, host_id=identity.host_id, credential=identity.credential) as client,
        _adb_server(settings) as server,
        DeviceWatcher(server) as watcher,
    ):
        fleet = AdbFleet(server, watcher)
        host = Host(
            client=client,
            fleet=fleet,
            execution=AssignmentExecutor(fleet.open_device, equipment=equipment),
            spool=Spool(folder.spool_path),
            life=life,
            drain_limit_seconds=settings.drain_limit_seconds,
            labels=_labels(settings),
            version=corral_version,
            supported_commands=[*sorted(SUPPORTED_COMMANDS), TaskKind.GOAL],
        )
        return await host.run()


def _labels(settings: HostSettings) -> dict[str, str]:
    """What tasks can ask for; the name of the model among it, unless people have given that label themselves."""
    return {AGENT_LABEL: settings.agent_model, **settings.labels} if settings.agent_model else settings.labels


@asynccontextmanager
async def _adb_server(settings: HostSettings) -> AsyncGenerator[AdbServer]:
    server = AdbServer(
        state_folder=settings.state_dir,
        port=settings.adb_port,
        addresses=settings.adb_connect,
        finds_usb=settings.adb_finds_usb,
        finds_emulators=settings.adb_finds_emulators,
    )
    try:
        await server.start()
    except AdbServerFailed as failed:
        raise AdbUnusable(str(failed)) from failed
    try:
        yield server
    finally:
        await server.stop()


if __name__ == "__main__":
    sys.exit(main())
