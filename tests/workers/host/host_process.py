"""A host process for tests: everything of the entry point but adb."""

import asyncio

from corral.failpoints import order_from_environment
from tests.workers.host.scripted import ScriptedExecution, ScriptedFleet
from workers.assignment.spool import Spool
from workers.control_client.client import ControlClient
from workers.host.host import Host
from workers.host.life import HostLife, exit_code_of
from workers.host.registration import identify_host
from workers.host.settings import HostSettings
from workers.host.signals import end_by_signals
from workers.host.state_folder import StateFolder


async def run(settings: HostSettings, *, ends_at_once: bool) -> int:
    life, folder, execution = HostLife(), StateFolder(settings.state_dir), ScriptedExecution()
    if ends_at_once:
        execution.finish.set()
    with folder.locked(), end_by_signals(life):
        identity = await identify_host(settings, folder, version=None, life=life)
        async with ControlClient(settings.api_url, host_id=identity.host_id, credential=identity.credential) as client:
            return await Host(
                client=client,
                fleet=ScriptedFleet("A"),
                execution=execution,
                spool=Spool(folder.spool_path),
                life=life,
                drain_limit_seconds=settings.drain_limit_seconds,
            ).run()


def run_host(work: str) -> int:
    """With the settings of the environment; its work is over `at_once`, or `never`. Answers the exit code."""
    order_from_environment()
    return asyncio.run(exit_code_of(run(HostSettings(), ends_at_once=work == "at_once")))
