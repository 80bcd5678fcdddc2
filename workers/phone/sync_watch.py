"""Faults and log for file requests: they appear as `sync RECV /sdcard/a.png`."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from workers.phone.adbd.stream import Stream
from workers.phone.faults import FaultKind
from workers.phone.strike import run_under_faults

if TYPE_CHECKING:
    from workers.phone.phone import Phone


class SyncWatch:
    def __init__(self, phone: "Phone", stream: Stream) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.hung_up = stream.closed
        self.struck_by: FaultKind | None = None
        self._phone = phone
        self._stream = stream

    async def __call__(self, request: str, path: str, answer: Callable[[], Awaitable[None]]) -> None:
        """Answer a request, unless a fault answers in its place; then its output is what the client gets."""

        async def run() -> int:
            await answer()
            return 0

        command = f"sync {request} {path}"
        with self._phone.log.recording(service="sync", command=command, is_action=False):
            await run_under_faults(self._phone.faults, command, self, run)
        if self.stdout:
            await self._stream.write(bytes(self.stdout))
            self.stdout.clear()
