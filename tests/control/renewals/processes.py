"""API processes without their servers: each has renewals with a listener, a cache and a connection of its own."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

from control.operations.plane import Plane, Timing
from control.renewals.bodies import HostRenewed, Renewed
from control.renewals.renewals import MAX_HELD, Renewals
from control.signals.lease_cache import LeaseCache
from control.signals.listener import WakeupListener
from control.signals.wakeups import RedisWakeups
from control.store.database import Database
from control.store.leases import Renewal
from corral.contract.host_protocol import Assignment
from corral.failpoints import on
from tests.control.fleet import Host
from tests.control.renewals.stories import until


async def _listens() -> bool:
    return False


@dataclass
class Process:
    renewals: Renewals
    listener: WakeupListener

    async def poll(self, host: Host, assignment: Assignment, *, cancel_seen: bool = False) -> Renewed:
        """Renew one lease as the route does."""
        renewal = _renewal(host, assignment, cancel_seen=cancel_seen)
        return await self.renewals.renew_one(renewal)

    async def renew(
        self,
        host: Host,
        *assignments: Assignment,
        wait_seconds: float = 0,
        seen: tuple[Assignment, ...] = (),
        is_gone: Callable[[], Any] = _listens,
    ) -> HostRenewed:
        """Renew all leases of a host."""
        return await self.renewals.renew_host(
            str(host.host_id),
            [_renewal(host, one, cancel_seen=one in seen) for one in assignments],
            wait_seconds=wait_seconds,
            received_at=time.monotonic(),
            is_gone=is_gone,
        )

    def held(self, host: Host, *assignments: Assignment, wait_seconds: float = 20, **more: Any) -> Any:
        """The same, held; answers with the task of it."""
        return asyncio.create_task(self.renew(host, *assignments, wait_seconds=wait_seconds, **more))

    async def holding(self, host: Host, *assignments: Assignment, **more: Any) -> Any:
        """The same, once it is held."""
        held = self.held(host, *assignments, **more)
        await until(lambda: self.holds(host))
        return held

    def holds(self, host: Host) -> bool:
        return str(host.host_id) in self.renewals._held._holds

    async def hears(self, assignment: Assignment) -> None:
        """Return when news about this lease has arrived here."""
        await until(lambda: str(assignment.lease_id) in self.renewals._caches._known._news_at)


def _renewal(host: Host, assignment: Assignment, *, cancel_seen: bool) -> Renewal:
    return Renewal(str(assignment.lease_id), str(host.host_id), cancel_seen=cancel_seen)


def signalling(plane: Plane, url: str, *, lease_seconds: float = 30.0) -> Plane:
    """The plane, with leases of this length and signals that go over a real server."""
    return replace(
        plane,
        wakeups=RedisWakeups(url, lease_seconds=lease_seconds),
        timing=Timing(lease_seconds=lease_seconds),
    )


@asynccontextmanager
async def process(
    plane: Plane, url: str, *, is_listening: bool = True, max_held: int = MAX_HELD
) -> AsyncIterator[Process]:
    """A process that runs while the block does."""
    listener = WakeupListener(url)
    database_url = plane.database._engine.url.render_as_string(hide_password=False)
    database = Database.connect(database_url, pool_size=1, application_name="test", is_for_one_thread=True)
    cache = LeaseCache(url, lease_seconds=plane.timing.lease_seconds)
    renewals = Renewals(replace(plane, database=database), cache, listener, max_held=max_held)
    listening = asyncio.create_task(listener.run())
    try:
        if is_listening:
            await until(lambda: listener.is_connected)
        yield Process(renewals, listener)
    finally:
        await renewals.close()
        listening.cancel()
        await asyncio.wait([listening])


class Writes:
    """Counts the statements that renewed leases, in all processes, while its block runs."""

    def __init__(self) -> None:
        self.count = 0
        self._counting = on("renew.committed", self._count)

    def _count(self) -> None:
        self.count += 1

    def __enter__(self) -> Self:
        self._counting.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._counting.__exit__(None, None, None)
