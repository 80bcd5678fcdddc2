"""A host at work against a control plane that speaks the wire."""

import asyncio

import pytest

from tests.workers.host.far_side import HOST_ID, FarSide, until
from tests.workers.host.scripted import ScriptedExecution, ScriptedFleet
from workers.assignment.spool import Spool
from workers.control_client.client import ControlClient
from workers.host.host import Host
from workers.host.life import ExitCode, HostLife


class Bench:
    """A host that is started by `start` and ended by its `life`."""

    def __init__(self, far_side: FarSide, client: ControlClient, spool: Spool) -> None:
        self.far_side = far_side
        self.client = client
        self.spool = spool
        self.life = HostLife()
        self.fleet = ScriptedFleet("A", "B")
        self.execution = ScriptedExecution()
        self.drain_limit_seconds = 60.0
        self.running: asyncio.Task[ExitCode] | None = None

    def start(self) -> asyncio.Task[ExitCode]:
        host = Host(
            client=self.client,
            fleet=self.fleet,
            execution=self.execution,
            spool=self.spool,
            life=self.life,
            drain_limit_seconds=self.drain_limit_seconds,
            labels={"site": "here"},
            supported_commands=["back"],
        )
        self.running = asyncio.create_task(host.run())
        return self.running

    async def run_a_task(self, serial: str = "A") -> str:
        task_id = self.far_side.submit(serial)
        touches = len(self.execution.touched_at)
        await until(lambda: serial in self.execution.begun and len(self.execution.touched_at) > touches)
        return task_id

    def report_of(self, task_id: str) -> dict | None:
        return self.far_side.lease_of(task_id).result


@pytest.fixture
async def bench(far_side, tmp_path):
    async with ControlClient(far_side.url, host_id=HOST_ID, credential="made-up") as client:
        bench = Bench(far_side, client, Spool(tmp_path))
        yield bench
        far_side.is_away = False
        bench.life.stop_now()
        if bench.running:
            async with asyncio.timeout(15):
                await bench.running
