"""A host at work: it wires the loops to each other and takes them through start, drain and end."""

import asyncio

import structlog

from corral.contract.identifiers import uuid7
from workers.assignment.execution import ClaimedAssignment, Execution
from workers.assignment.guard import StopReason
from workers.assignment.host_renewal import HostRenewal
from workers.assignment.next_claim import NextClaim
from workers.assignment.reporter import Reporter
from workers.assignment.runner import ActiveAssignmentRunner
from workers.assignment.spool import Spool
from workers.clock import Clock, boot_seconds, pause
from workers.control_client.client import ControlClient
from workers.control_client.verdicts import CredentialRefused, StaleIncarnation, Unreachable
from workers.host.claims import ClaimLoop
from workers.host.fleet import Fleet
from workers.host.heartbeat import HeartbeatLoop
from workers.host.life import ExitCode, HostLife
from workers.host.slots import Slots
from workers.metrics import show_devices

log = structlog.get_logger()


class Host:
    """One life of a registered host. End it with `drain()`, or at once with `stop_now()`, of its `life`."""

    def __init__(
        self,
        *,
        client: ControlClient,
        fleet: Fleet,
        execution: Execution,
        spool: Spool,
        life: HostLife,
        drain_limit_seconds: float,
        labels: dict[str, str] | None = None,
        version: str | None = None,
        supported_commands: list[str] | None = None,
        clock: Clock = boot_seconds,
    ) -> None:
        self._client = client
        self._execution = execution
        self._fleet = fleet
        self._life = life
        self._drain_limit_seconds = drain_limit_seconds
        self._clock = clock
        self._reporter = Reporter(client, spool, on_credential_refused=self._end_if_unknown)
        self._renewals = HostRenewal(client=client, clock=clock)
        self._slots = Slots(self._make_runner, on_free=self._wake)
        self._incarnation = incarnation = uuid7()
        self._heartbeat = HeartbeatLoop(
            client=client,
            fleet=fleet,
            life=life,
            incarnation=incarnation,
            labels=labels or {},
            version=version,
            supported_commands=supported_commands or [],
            on_answer=self._wake,
            on_credential_refused=self._end_if_unknown,
        )
        self._claims = ClaimLoop(
            client=client,
            fleet=fleet,
            slots=self._slots,
            heartbeat=self._heartbeat,
            life=life,
            incarnation=incarnation,
            clock=clock,
        )

    async def run(self) -> ExitCode:
        """Work until the life ends. Raises nothing on the ways out that are foreseen."""
        hurry = asyncio.create_task(self._hurry_when_stopping())
        # Beside the loops of the work: an error in one of those must not end renewals before the runs have settled.
        renewals = asyncio.create_task(self._renewals.run(), name="renewals")
        try:
            if await self._former_life_is_reported():
                await self._work()
        finally:
            hurry.cancel()
            renewals.cancel()
            await asyncio.wait({renewals})
            await self._reporter.end_delivery()
        log.info("host.stopped", exit_code=int(self._life.exit_code))
        return self._life.exit_code

    async def _former_life_is_reported(self) -> bool:
        """Deliver the spool before this life is announced. False if the host was told to end while it tried."""
        delivery = asyncio.create_task(self._reporter.deliver_spool())
        told = asyncio.create_task(self._life.draining.wait())
        await asyncio.wait({delivery, told}, return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        if delivery.done():
            delivery.result()
            return True
        self._reporter.hurry()
        await delivery
        return False

    async def _work(self) -> None:
        async with asyncio.TaskGroup() as loops:
            heartbeat = loops.create_task(self._heartbeat.run(), name="heartbeat")
            claims = loops.create_task(self._claims.run(), name="claims")
            changes = loops.create_task(self._pass_changes_on(), name="fleet-changes")
            try:
                await self._life.draining.wait()
                await self._drain(claims)
            finally:
                # An error in a loop ends here as well: nobody may be left driving a device. No claim comes after the
                # stop, for it would not be stopped.
                claims.cancel()
                await asyncio.wait({claims})
                await self._settle()
                heartbeat.cancel()
                changes.cancel()
        await self._say_goodbye()

    async def _drain(self, claims: asyncio.Task[None]) -> None:
        """No more claims; then the work has its time."""
        log.info("host.draining", busy=sorted(self._slots.busy_serials), limit_seconds=self._drain_limit_seconds)
        self._heartbeat.wake()
        self._claims.wake()
        finished = asyncio.create_task(self._finish(claims))
        stopping = asyncio.create_task(self._life.stopping.wait())
        await asyncio.wait({finished, stopping}, timeout=self._drain_limit_seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in (finished, stopping):
            task.cancel()

    async def _finish(self, claims: asyncio.Task[None]) -> None:
        await asyncio.wait({claims})  # its last poll may still bring an assignment
        await self._slots.wait_until_idle()

    async def _settle(self) -> None:
        """Whatever still runs is stopped, and reported; a report that finds no way is left in the spool."""
        if self._life.exit_code is ExitCode.REPLACED:
            self._slots.lose_all(StopReason.HOST_REPLACED)
        else:
            self._slots.stop_all(StopReason.HOST_SHUTDOWN)
        give_up = asyncio.create_task(self._hurry_after_a_lease())
        await self._slots.wait_until_idle()
        give_up.cancel()

    async def _say_goodbye(self) -> None:
        if self._life.exit_code is not ExitCode.OK:
            return
        try:
            await self._heartbeat.beat_once()
        except (Unreachable, CredentialRefused, StaleIncarnation) as error:
            log.warning("heartbeat.failed", error=str(error))

    async def _pass_changes_on(self) -> None:
        while True:
            show_devices(device.state for device in self._fleet.devices())
            await self._fleet.wait_for_change()
            self._wake()
            self._heartbeat.wake()

    async def _hurry_when_stopping(self) -> None:
        await self._life.stopping.wait()
        self._reporter.hurry()

    async def _hurry_after_a_lease(self) -> None:
        await pause(self._heartbeat.lease_seconds, until=self._life.stopping)
        self._reporter.hurry()

    def _end_if_unknown(self) -> None:
        """A host that was never let in ends; one that was goes on with its work and asks again."""
        if not self._heartbeat.acknowledged.is_set():
            log.error("host.credential_refused", remedy="remove credential.json from the state folder to register anew")
            self._life.end_refused()

    def _wake(self) -> None:
        self._claims.wake()

    def _make_runner(self, claimed: ClaimedAssignment) -> ActiveAssignmentRunner:
        return ActiveAssignmentRunner(
            claimed,
            client=self._client,
            execution=self._execution,
            reporter=self._reporter,
            renewals=self._renewals,
            clock=self._clock,
            next_claim=NextClaim(
                claimed.assignment.device_serial,
                incarnation=self._incarnation,
                may_claim=self._claims.may_claim,
                clock=self._clock,
            ),
        )
