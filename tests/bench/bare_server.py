"""The floor of every HTTP figure: a handler that decodes a renewal, encodes an answer and does nothing else.

It runs in a process of its own, on the server that Corral runs on, with the same settings.
"""

import sys
from typing import Any

import msgspec
import uvicorn

from corral.stack.ports import LOOPBACK


class Progress(msgspec.Struct):
    step: int = 0
    steps_total: int | None = None
    text: str = ""
    checkpoint: str = "running"


class Renewal(msgspec.Struct):
    progress: Progress | None = None
    cancel_seen: bool = False


class HeldLease(Renewal, kw_only=True):
    lease_id: str


class HostRenewal(msgspec.Struct):
    leases: list[HeldLease]
    wait_ms: int = 0


class Renewed(msgspec.Struct):
    lease_id: str
    status: str = "renewed"
    lease_expires_at: str = "2030-01-01T00:00:00.000000Z"
    lease_remaining_ms: int = 30_000
    held_ms: int = 0
    renew_after_ms: int = 10_000
    cancel_requested: bool = False


class HostRenewed(msgspec.Struct):
    leases: list[Renewed]
    held_ms: int = 0
    renew_after_ms: int = 0


class BareHandler:
    """`POST …/leases/{id}/renew` and `POST …/hosts/{id}/renew`, answered from nothing."""

    def __init__(self) -> None:
        self._single, self._host = msgspec.json.Decoder(Renewal), msgspec.json.Decoder(HostRenewal)
        self._encode = msgspec.json.Encoder().encode

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        content = message["body"]
        while message.get("more_body"):
            message = await receive()
            content += message["body"]
        body = self._answer(scope["path"], content)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _answer(self, path: str, content: bytes) -> bytes:
        if "/hosts/" in path:
            return self._encode(HostRenewed([Renewed(one.lease_id) for one in self._host.decode(content).leases]))
        self._single.decode(content)
        return self._encode(Renewed(path.split("/")[4]))


def main(port: int) -> None:
    # As in `control.app.server`, which is not imported: this is the floor of start-up times too.
    uvicorn.run(
        BareHandler(),
        host=LOOPBACK,
        port=port,
        loop="uvloop",
        http="httptools",
        timeout_keep_alive=75,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
