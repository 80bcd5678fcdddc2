"""Bounds the body of every request while it streams in, whatever its `Content-Length` claims."""

import asyncio
import re
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from control.domain.errors import BodyTooLarge
from control.domain.submission import MAX_SUBMISSION_BYTES

#: Most clients read the answer only after they have sent everything, and lose it when the connection is cut before. So
#: this much more is taken and thrown away.
DISCARDED_BYTES = 16 * 1024 * 1024
DISCARDED_SECONDS = 2.0

_ARTIFACT_UPLOAD = re.compile(r"/internal/v1/leases/[^/]+/artifacts/[^/]+")


class BodyLimit:
    """Refuses a body with `BodyTooLarge` as soon as it is known to be over its limit."""

    def __init__(self, app: ASGIApp, *, max_artifact_bytes: int) -> None:
        self._app = app
        self._max_artifact_bytes = max_artifact_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit(scope)
        if (announced := _announced_bytes(scope)) is not None and announced > limit:
            await _discard_rest(scope, receive)
            raise _too_large(limit)
        received = 0

        async def receive_counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                if message.get("more_body", False):
                    await _discard_rest(scope, receive)
                raise _too_large(limit)
            return message

        await self._app(scope, receive_counted, send)

    def _limit(self, scope: Scope) -> int:
        is_upload = scope["method"] == "PUT" and _ARTIFACT_UPLOAD.fullmatch(scope["path"])
        return self._max_artifact_bytes if is_upload else MAX_SUBMISSION_BYTES


def _announced_bytes(scope: Scope) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value[:20])
    return None


async def _discard_rest(scope: Scope, receive: Receive) -> None:
    if any(name == b"expect" for name, _ in scope["headers"]):
        return  # this client waits for the answer before it sends
    discarded = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(DISCARDED_SECONDS):
            while discarded < DISCARDED_BYTES:
                message = await receive()
                discarded += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return


def _too_large(limit: int) -> BodyTooLarge:
    return BodyTooLarge(f"a body may have at most {limit} bytes here", max_bytes=limit)
