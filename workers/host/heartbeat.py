"""Tell the control plane again and again that this host lives and which devices it has."""

import asyncio
from collections.abc import Callable
from uuid import UUID

import structlog

from corral.contract.host_protocol import Heartbeat, HeartbeatReply
from workers.assignment.backoff import backoff_seconds
from workers.clock import pause
from workers.control_client.client import ANSWER_SHARE, ControlClient
from workers.control_client.verdicts import CredentialRefused, StaleIncarnation, Unreachable
from workers.host.fleet import Fleet
from workers.host.life import HostLife
from workers.metrics import HEARTBEATS

#: Until the first reply says how long a lease is.
ASSUMED_LEASE_SECONDS = 30.0
#: A hub that flaps must not turn each flap into a request.
SHORTEST_WAIT_SECONDS = 0.2
LONGEST_RETRY_SECONDS = 5.0
#: No lease waits for a heartbeat, and a busy control plane may take its time.
SHORTEST_ANSWER_SECONDS = 5.0

log = structlog.get_logger()


class HeartbeatLoop:
    """Goes on through a drain, until it is cancelled; `beat_once` is also the goodbye."""

    def __init__(
        self,
        *,
        client: ControlClient,
        fleet: Fleet,
        life: HostLife,
        incarnation: UUID,
        labels: dict[str, str],
        version: str | None,
        supported_commands: list[str],
        on_answer: Callable[[], None],
        on_credential_refused: Callable[[], None],
    ) -> None:
        #: The control plane knows this incarnation: the leases of the former one have ended.
        self.acknowledged = asyncio.Event()
        #: An operator asked for a drain. It can be taken back, so it ends no life.
        self.operator_drains: bool = False
        self.lease_seconds = ASSUMED_LEASE_SECONDS
        self._client = client
        self._fleet = fleet
        self._life = life
        self._incarnation = incarnation
        self._labels = labels
        self._version = version
        self._supported_commands = supported_commands
        self._on_answer = on_answer
        self._on_credential_refused = on_credential_refused
        self._awake = asyncio.Event()

    def wake(self) -> None:
        """There is something to say that should not wait for the next regular heartbeat."""
        self._awake.set()

    async def run(self) -> None:
        retries = backoff_seconds(longest_seconds=LONGEST_RETRY_SECONDS)
        while True:
            self._awake.clear()
            try:
                reply = await self.beat_once()
            except StaleIncarnation as stale:
                log.error("host.replaced", detail=str(stale))  # noqa: TRY400 - an answer, not a crash
                return self._life.end_replaced()
            except (Unreachable, CredentialRefused) as error:
                HEARTBEATS.labels("failed").inc()
                log.warning("heartbeat.failed", error=str(error))
                if isinstance(error, CredentialRefused):
                    self._on_credential_refused()
                await pause(next(retries), until=asyncio.Event())
            else:
                retries = backoff_seconds(longest_seconds=LONGEST_RETRY_SECONDS)
                await self._rest(reply.heartbeat_after_ms / 1000)

    async def beat_once(self) -> HeartbeatReply:
        """Send one heartbeat and take note of the answer."""
        heartbeat = Heartbeat(
            incarnation=self._incarnation,
            draining=self._life.draining.is_set(),
            devices=list(self._fleet.devices()),
            labels=self._labels,
            version=self._version,
            supported_commands=self._supported_commands,
        )
        timeout_seconds = max(self.lease_seconds * ANSWER_SHARE, SHORTEST_ANSWER_SECONDS)
        reply = await self._client.heartbeat(heartbeat, timeout_seconds=timeout_seconds)
        if reply.draining != self.operator_drains:
            log.info("host.drain_requested" if reply.draining else "host.drain_ended")
        self.operator_drains = reply.draining
        self.lease_seconds = reply.lease_seconds
        self.acknowledged.set()
        HEARTBEATS.labels("ok").inc()
        self._on_answer()
        return reply

    async def _rest(self, seconds: float) -> None:
        await pause(SHORTEST_WAIT_SECONDS, until=asyncio.Event())
        await pause(max(seconds - SHORTEST_WAIT_SECONDS, 0), until=self._awake)
