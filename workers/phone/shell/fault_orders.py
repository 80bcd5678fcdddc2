"""`corral-fault`: faults and states ordered over adb itself, for a phone that runs in another process."""

import asyncio
from dataclasses import fields
from typing import Any

from workers.phone.adbd.connection import LinkState
from workers.phone.faults import Fault, FaultKind, RefusedFault
from workers.phone.shell.call import Call, Command

_USAGE = f"""corral-fault add KIND [--match PATTERN] [--times N | --forever] [--skip N] [--delay-ms N]
                 [--output TEXT] [--exit-code N] [--after]
corral-fault list | clear
corral-fault link STATE --for-ms N
KIND: {", ".join(FaultKind)}
STATE: {", ".join(LinkState)}"""
_NUMBERS = {"--times": "times", "--skip": "skip", "--delay-ms": "delay_ms", "--exit-code": "exit_code"}
_TEXTS = {"--match": "match", "--output": "output"}


class _Unusable(Exception):
    """These words order nothing; the text says why."""


async def corral_fault(call: Call) -> int:
    try:
        match call.arguments:
            case ("add", kind, *options):
                call.phone.faults.add(Fault(FaultKind(kind), **_options(options)))
            case ("list",):
                for fault in call.phone.faults.ordered:
                    call.print(_line(fault))
            case ("clear",):
                call.phone.faults.clear()
            case ("link", state, "--for-ms", ms) if ms.isdecimal():
                _change_link(call, LinkState(state), for_ms=int(ms))
            case _:
                return call.fail(_USAGE, exit_code=2)
    except (RefusedFault, _Unusable, ValueError) as error:
        return call.fail(f"corral-fault: {error}\n{_USAGE}", exit_code=2)
    return 0


def _options(words: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--after":
            found["after"] = True
        elif word == "--forever":
            found["times"] = None
        elif word in _NUMBERS and rest and rest[0].isdecimal():
            found[_NUMBERS[word]] = int(rest.pop(0))
        elif word in _TEXTS and rest:
            found[_TEXTS[word]] = rest.pop(0)
        else:
            raise _Unusable(f"{word!r} is no option, or lacks its value")
    return found


def _line(fault: Fault) -> str:
    return " ".join(f"{field.name}={getattr(fault, field.name)!r}" for field in fields(fault))


def _change_link(call: Call, state: LinkState, *, for_ms: int) -> None:
    """The way back is set first: a phone that is offline cannot be told to return."""
    phone, loop = call.phone, asyncio.get_running_loop()
    # The answer to this command should still get through.
    loop.call_later(0.05, setattr, phone, "link_state", state)
    loop.call_later(0.05 + for_ms / 1000, setattr, phone, "link_state", LinkState.DEVICE)


COMMANDS: dict[str, Command] = {"corral-fault": corral_fault}
