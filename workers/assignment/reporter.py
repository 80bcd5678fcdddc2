"""Deliver terminal reports: first to the disk, then to the control plane, until it has acknowledged them."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec

import structlog

from corral.failpoints import failpoint
from workers.assignment.backoff import backoff_seconds
from workers.assignment.spool import Spool, SpooledReport
from workers.clock import pause
from workers.control_client.client import ControlClient
from workers.control_client.verdicts import CredentialRefused, ReportRefused, Unreachable

#: A report is small, and nothing else waits behind it.
REPORT_SECONDS = 10.0

Arguments = ParamSpec("Arguments")

log = structlog.get_logger()


class Reporter:
    """One for the host, so that `hurry` reaches every report on its way."""

    def __init__(
        self, client: ControlClient, spool: Spool, *, on_credential_refused: Callable[[], None] = lambda: None
    ) -> None:
        self._on_credential_refused = on_credential_refused
        self._client = client
        self._spool = spool
        self._hurried = asyncio.Event()

    def hurry(self) -> None:
        """From now on each report is tried once more and then left in the spool for the next life of this host."""
        self._hurried.set()

    async def report(self, spooled: SpooledReport) -> bool:
        """Spool a report and deliver it. False if it had to stay in the spool."""
        await _on_disk(self._spool.put, spooled)
        failpoint("result.spooled")
        return await self.deliver(spooled)

    async def deliver_spool(self) -> None:
        """Deliver what a former life of this host left behind."""
        waiting = await asyncio.to_thread(self._spool.waiting)
        await asyncio.gather(*(self.deliver(spooled) for spooled in waiting))

    async def deliver(self, spooled: SpooledReport) -> bool:
        """Send a spooled report until there is a verdict. False if it was given up for this life."""
        for wait_seconds in backoff_seconds():
            is_last = self._hurried.is_set()
            if await self._has_verdict(spooled):
                return True
            if is_last:
                break
            await pause(wait_seconds, until=self._hurried)
        log.warning("result.left_in_spool", lease_id=str(spooled.lease_id), task_id=str(spooled.task_id))
        return False

    async def _has_verdict(self, spooled: SpooledReport) -> bool:
        known = log.bind(lease_id=str(spooled.lease_id), task_id=str(spooled.task_id))
        try:
            reply = await self._client.report(
                spooled.lease_id, spooled.report, task_id=spooled.task_id, timeout_seconds=REPORT_SECONDS
            )
        except ReportRefused as refused:
            known.warning("result.refused", error=str(refused), status=spooled.report.status)
            await _on_disk(self._spool.refuse, spooled, refused.problem)
            return True
        except (Unreachable, CredentialRefused) as error:
            known.warning("result.not_delivered", error=str(error))
            if isinstance(error, CredentialRefused):
                self._on_credential_refused()
            return False
        failpoint("result.acknowledged")
        known.info("result.acknowledged", status=reply.status, task_status=reply.task_status)
        await _on_disk(self._spool.remove, spooled.lease_id)
        return True


async def _on_disk(write: Callable[Arguments, None], *args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
    """A full or broken disk costs the safety net, not the report."""
    try:
        await asyncio.to_thread(write, *args, **kwargs)
    except OSError:
        log.exception("spool.failed")
