"""Faults to order: what a phone does instead of, or besides, what it was asked."""

import fnmatch
from dataclasses import dataclass, field
from enum import StrEnum


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


class RefusedFault(ValueError):
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
