"""Deliver terminal reports: first to the disk, then to the control plane, until it has acknowledged them."""

import asyncio
from collections.abc import Callable
from enum import Enum, auto
from typing import ParamSpec

import structlog

from corral.contract.problems import ProblemCode
from corral.failpoints import failpoint
from corral.traces.spans import span
from workers.assignment.backoff import backoff_seconds
from workers.assignment.next_claim import NextClaim
from workers.assignment.spool import Spool, SpooledReport
from workers.clock import pause
from workers.control_client.client import ControlClient
from workers.control_client.verdicts import CredentialRefused, Refused, ReportRefused, Unreachable

#: A report is small, and nothing else waits behind it.
REPORT_SECONDS = 10.0
#: In a row, which takes about a minute: a report that the control plane cannot judge, though it answers, must not keep
#: a host from working.
ANSWERS_WITHOUT_VERDICT = 12

Arguments = ParamSpec("Arguments")

log = structlog.get_logger()


class _Outcome(Enum):
    VERDICT = auto()
    #: The control plane itself said that it could not judge this report.
    NO_VERDICT = auto()
    SILENCE = auto()


class Reporter:
    """One for the host, so that `hurry` reaches every report on its way."""

    def __init__(
        self, client: ControlClient, spool: Spool, *, on_credential_refused: Callable[[], None] = lambda: None
    ) -> None:
        self._on_credential_refused = on_credential_refused
        self._client = client
        self._spool = spool
        self._hurried = asyncio.Event()
        self._former: set[asyncio.Task[bool]] = set()

    def hurry(self) -> None:
        """From now on each report is tried once more and then left in the spool for the next life of this host."""
        self._hurried.set()

    async def report(self, spooled: SpooledReport, *, next_claim: NextClaim | None = None) -> bool:
        """Spool a report and deliver it, with a claim for the device that it frees. False if it stays in the spool."""
        await _on_disk(self._spool.put, spooled)
        failpoint("result.spooled")
        return await self._deliver(spooled, next_claim=next_claim)

    async def deliver_spool(self) -> None:
        """Deliver what a former life of this host left behind.

        A report that the control plane cannot judge, though it answers, is waited for only so long. It is sent on
        beside what follows, until `end_delivery`.
        """
        waiting = await asyncio.to_thread(self._spool.waiting)
        await asyncio.gather(*(self._deliver_former(spooled) for spooled in waiting))

    async def end_delivery(self) -> None:
        """Try once more what is still being sent of the spool, and leave the rest there."""
        self.hurry()
        await asyncio.gather(*self._former)

    async def _deliver_former(self, spooled: SpooledReport) -> None:
        stuck = asyncio.Event()
        delivery = asyncio.create_task(self._deliver(spooled, on_stuck=stuck.set))
        self._former.add(delivery)
        told = asyncio.create_task(stuck.wait())
        await asyncio.wait({delivery, told}, return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        if delivery.done():
            delivery.result()
        else:
            log.error("result.stuck", lease_id=str(spooled.lease_id), task_id=str(spooled.task_id))

    async def _deliver(
        self,
        spooled: SpooledReport,
        *,
        next_claim: NextClaim | None = None,
        on_stuck: Callable[[], None] = lambda: None,
    ) -> bool:
        """Send a spooled report until there is a verdict. False if it was given up for this life."""
        with span("report", spooled.task_id, outcome=spooled.report.status) as traced:
            has_verdict = await self._deliver_until_verdict(spooled, next_claim=next_claim, on_stuck=on_stuck)
            if not has_verdict:
                traced.fail("left in spool")
        return has_verdict

    async def _deliver_until_verdict(
        self, spooled: SpooledReport, *, next_claim: NextClaim | None, on_stuck: Callable[[], None]
    ) -> bool:
        answers_in_a_row = 0
        for wait_seconds in backoff_seconds():
            is_last = self._hurried.is_set()
            outcome = await self._send(spooled, next_claim)
            if outcome is _Outcome.VERDICT:
                return True
            # Silence may be an outage, after which the report is taken: what comes before that does not count.
            answers_in_a_row = answers_in_a_row + 1 if outcome is _Outcome.NO_VERDICT else 0
            if answers_in_a_row == ANSWERS_WITHOUT_VERDICT:
                on_stuck()
            if is_last:
                break
            await pause(wait_seconds, until=self._hurried)
        log.warning("result.left_in_spool", lease_id=str(spooled.lease_id), task_id=str(spooled.task_id))
        return False

    async def _send(self, spooled: SpooledReport, next_claim: NextClaim | None) -> _Outcome:
        known = log.bind(lease_id=str(spooled.lease_id), task_id=str(spooled.task_id))
        # It is not in the spool: what a later life delivers must not ask for work in the name of this one.
        asked = next_claim.request() if next_claim else None
        report = spooled.report.model_copy(update={"next_claim": asked})
        try:
            reply = await self._client.report(
                spooled.lease_id, report, task_id=spooled.task_id, timeout_seconds=REPORT_SECONDS
            )
        except ReportRefused as refused:
            known.warning("result.refused", error=str(refused), status=spooled.report.status)
            await _on_disk(self._spool.refuse, spooled, refused.problem)
            return _Outcome.VERDICT
        except (Unreachable, CredentialRefused) as error:
            known.warning("result.not_delivered", error=str(error))
            if isinstance(error, CredentialRefused):
                self._on_credential_refused()
            is_outage = not isinstance(error, Refused) or error.problem.code is ProblemCode.NOT_READY
            return _Outcome.SILENCE if is_outage else _Outcome.NO_VERDICT
        if next_claim and reply.claimed:
            next_claim.take(reply.claimed)
        failpoint("result.acknowledged")
        known.info("result.acknowledged", status=reply.status, task_status=reply.task_status)
        await _on_disk(self._spool.remove, spooled.lease_id)
        return _Outcome.VERDICT


async def _on_disk(write: Callable[Arguments, None], *args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
    """A full or broken disk costs the safety net, not the report."""
    try:
        await asyncio.to_thread(write, *args, **kwargs)
    except OSError:
        log.exception("spool.failed")
