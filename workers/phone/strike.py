"""How each kind of fault strikes a command."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from workers.phone.faults import Fault, FaultKind, Faults

_GARBAGE = bytes(range(255, -1, -1)) * 4
_INJECT_EVENTS = (
    "java.lang.SecurityException: Injecting input events requires the caller (or the source of the instrumentation, "
    "if any) to have the INJECT_EVENTS permission."
)
#: What a phone with several displays prints before its screenshot.
DISPLAY_WARNING = (
    "[Warning] Multiple displays were found, but no display id was specified! Defaulting to the first display found, "
    "however this default is not guaranteed to be consistent across captures.\n"
)


class ConnectionCut(Exception):
    """A fault wants the whole connection dropped now."""


class ClientGone(Exception):
    """The client hung up on a command that hangs; nobody waits for its answer."""


class OutputTrickles(Exception):
    """A fault wants a byte of output every `interval_seconds`, for ever."""

    def __init__(self, interval_seconds: float) -> None:
        super().__init__(interval_seconds)
        self.interval_seconds = interval_seconds


class Answer(Protocol):
    """Where a command's output is collected."""

    stdout: bytearray
    stderr: bytearray
    hung_up: asyncio.Event
    struck_by: FaultKind | None


async def run_under_faults(faults: Faults, command: str, answer: Answer, run: Callable[[], Awaitable[int]]) -> int:
    """Run a command under the fault that was ordered for it.

    Raises:
        ConnectionCut: the fault is a drop.
        ClientGone: the fault is a hang, and the client gave up.
        OutputTrickles: the fault is a trickle.
    """
    fault = faults.take(command)
    if fault is None:
        return await run()
    return await _strike(fault, answer, run)


async def _strike(fault: Fault, answer: Answer, run: Callable[[], Awaitable[int]]) -> int:  # noqa: PLR0911, C901, PLR0912 - one case for each kind
    match fault.kind:
        case FaultKind.DROP:
            await asyncio.sleep(fault.delay_ms / 1000)
            if fault.after:
                await run()
            raise ConnectionCut
        case FaultKind.HANG:
            if fault.after:
                await run()
            await answer.hung_up.wait()
            raise ClientGone
        case FaultKind.DELAY:
            if fault.after:
                exit_code = await run()
                await asyncio.sleep(fault.delay_ms / 1000)
                return exit_code
            await asyncio.sleep(fault.delay_ms / 1000)
            return await run()
        case FaultKind.GARBAGE:
            answer.stdout += _GARBAGE
            return fault.exit_code
        case FaultKind.OUTPUT:
            answer.stdout += fault.output.encode()
            return fault.exit_code
        case FaultKind.EXIT_CODE:
            await run()
            return fault.exit_code
        case FaultKind.NOT_IDLE:
            answer.stderr += b"ERROR: could not get idle state.\n"
            return fault.exit_code
        case FaultKind.INPUT_NOT_PERMITTED:
            answer.stdout += _INJECT_EVENTS.encode() + b"\n"
            return fault.exit_code
        case FaultKind.TRICKLE:
            raise OutputTrickles(max(fault.delay_ms, 10) / 1000)
        case FaultKind.BLACK_SCREENSHOT | FaultKind.DISPLAY_WARNING:
            answer.struck_by = fault.kind
            return await run()
        case FaultKind.REFUSE:
            raise AssertionError("refusals strike when a service is opened")
