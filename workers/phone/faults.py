"""Faults to order: what a phone does instead of, or besides, what it was asked."""

import asyncio
import fnmatch
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

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


class FaultKind(StrEnum):
    """What happens. `match` says to which commands; the last four have their own commands when none is given."""

    DROP = "drop"
    HANG = "hang"
    DELAY = "delay"
    TRICKLE = "trickle"
    GARBAGE = "garbage"
    OUTPUT = "output"
    EXIT_CODE = "exit_code"
    REFUSE = "refuse"
    NOT_IDLE = "not_idle"
    BLACK_SCREENSHOT = "black_screenshot"
    DISPLAY_WARNING = "display_warning"
    INPUT_NOT_PERMITTED = "input_not_permitted"


_OWN_MATCH = {
    FaultKind.NOT_IDLE: "uiautomator dump*",
    FaultKind.BLACK_SCREENSHOT: "screencap*",
    FaultKind.DISPLAY_WARNING: "screencap*",
    FaultKind.INPUT_NOT_PERMITTED: "input *",
}


class ConnectionCut(Exception):  # noqa: N818 - an exception is a short fact
    """A fault wants the whole connection dropped now."""


class ClientGone(Exception):  # noqa: N818 - an exception is a short fact
    """The client hung up on a command that hangs; nobody waits for its answer."""


class OutputTrickles(Exception):  # noqa: N818 - an exception is a short fact
    """A fault wants a byte of output every `interval_seconds`, for ever."""

    def __init__(self, interval_seconds: float) -> None:
        super().__init__(interval_seconds)
        self.interval_seconds = interval_seconds


class RefusedFault(ValueError):  # noqa: N818 - an exception is a short fact
    """This fault cannot be ordered; the text says which field is wrong."""


@dataclass(slots=True)
class Fault:
    """One order.

    `match` is a pattern (`input tap*`) over a shell command, or over a file request (`sync RECV /sdcard/*`); for
    `refuse` over the whole service (`shell:*`, `sync:*`). `times` is how often it strikes, None for ever; the first
    `skip` matches are let through. A drop with `after=True` lets the command do its work and cuts the answer off.
    """

    kind: FaultKind
    match: str = ""
    times: int | None = 1
    skip: int = 0
    delay_ms: int = 0
    output: str = ""
    exit_code: int = 0
    after: bool = False

    def __post_init__(self) -> None:
        try:
            self.kind = FaultKind(self.kind)
        except ValueError:
            raise RefusedFault(f"kind: {self.kind!r} is none of {', '.join(FaultKind)}") from None
        for name, least in (("times", 1), ("skip", 0), ("delay_ms", 0), ("exit_code", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise RefusedFault(f"{name}: {value} is less than {least}")
        self.match = self.match or _OWN_MATCH.get(self.kind, "*")


class Answer(Protocol):
    """Where a command's output is collected."""

    stdout: bytearray
    stderr: bytearray
    hung_up: asyncio.Event
    struck_by: FaultKind | None


@dataclass(slots=True)
class Faults:
    """The orders of one phone, oldest first; each command meets at most one of them."""

    ordered: list[Fault] = field(default_factory=list[Fault])

    def add(self, fault: Fault) -> Fault:
        self.ordered.append(fault)
        return fault

    def clear(self) -> None:
        self.ordered.clear()

    def take(self, command: str, *, refusing: bool = False) -> Fault | None:
        """The fault that strikes this command now, if any; it is used up by that."""
        for fault in self.ordered:
            if (fault.kind is FaultKind.REFUSE) is not refusing or not fnmatch.fnmatchcase(command, fault.match):
                continue
            if fault.skip:
                fault.skip -= 1
                continue
            if fault.times is not None:
                fault.times -= 1
                if not fault.times:
                    self.ordered.remove(fault)
            return fault
        return None

    async def apply(self, command: str, answer: Answer, run: Callable[[], Awaitable[int]]) -> int:
        """Run a command under the fault that was ordered for it.

        Raises:
            ConnectionCut: the fault is a drop.
            ClientGone: the fault is a hang, and the client gave up.
            OutputTrickles: the fault is a trickle.
        """
        fault = self.take(command)
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
