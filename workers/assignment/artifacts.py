"""Upload what a run wants to keep. It is evidence: worth a few tries, not worth a failed run."""

import structlog

from corral.traces.spans import span
from workers.assignment.backoff import backoff_seconds
from workers.assignment.guard import LeaseGuard
from workers.clock import pause
from workers.control_client.client import ControlClient
from workers.control_client.verdicts import CredentialRefused, Unreachable
from workers.metrics import UPLOADS

TRIES = 3

log = structlog.get_logger()


class ArtifactUploads:
    """The uploads of one run, one after the other; `missing` names what could not be stored."""

    def __init__(self, guard: LeaseGuard, *, client: ControlClient) -> None:
        self.missing: list[str] = []
        self._guard = guard
        self._client = client

    async def upload(self, name: str, content: bytes, media_type: str) -> None:
        """Store one artifact, or note that it is missing.

        A stopped run gets one try, and none once one has failed: an agent leaves a hundred pictures, and its end must
        not wait for each of them.
        """
        with span("upload", media_type=media_type, size_bytes=len(content)) as traced:
            await self._upload(name, content, media_type)
            if name in self.missing:
                UPLOADS.labels("given_up").inc()
                traced.fail("not stored")

    async def _upload(self, name: str, content: bytes, media_type: str) -> None:
        if self.missing and self._guard.should_stop():
            self.missing.append(name)
            return
        for _, wait_seconds in zip(range(TRIES), backoff_seconds(), strict=False):
            try:
                await self._client.upload_artifact(self._guard.lease_id, name, content, media_type=media_type)
            except (Unreachable, CredentialRefused) as error:
                UPLOADS.labels("failed").inc()
                log.warning("artifact.not_stored", lease_id=str(self._guard.lease_id), name=name, error=str(error))
            else:
                UPLOADS.labels("stored").inc()
                return
            await pause(wait_seconds, until=self._guard.stopped)
            if self._guard.should_stop():
                break
        self.missing.append(name)
