"""Named places between two facts where a test may stop, kill or fail the process.

`failpoint("claim.committed")` does nothing unless something was ordered for that name: in process with `on`, or for
a process of its own with `CORRAL_FAILPOINTS="claim.committed=exit,result.spooled=exit"`, which ends it there as kill -9
would.
"""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager

NAMES = frozenset(
    {
        "submit.committed",
        "assign.committed",
        "claim.committed",
        "renew.committed",
        "cancel.committed",
        "cancel.marking",
        "cache.filling",
        "result.committed",
        "result.spooled",
        "result.acknowledged",
        "run.finished",
        "claim.received",
    }
)


_ordered: dict[str, Callable[[], None]] = {}


def failpoint(name: str) -> None:
    """Do what was ordered for this place, which is nothing outside of tests."""
    if _ordered and (action := _ordered.get(name)):
        action()


@contextmanager
def on(name: str, action: Callable[[], None]) -> Generator[None]:
    """While the block runs, `action` happens at the place called `name`."""
    _check_name(name)
    _ordered[name] = action
    try:
        yield
    finally:
        _ordered.pop(name, None)


def order_from_environment() -> None:
    """Arm what `CORRAL_FAILPOINTS` orders; called once by each process that `corral` starts."""
    for order in filter(None, os.environ.get("CORRAL_FAILPOINTS", "").split(",")):
        name, _, verb = order.partition("=")
        _check_name(name)
        if verb != "exit":
            raise ValueError(f"CORRAL_FAILPOINTS: '{order}' is no order; write {name}=exit")
        _ordered[name] = _exit


def _check_name(name: str) -> None:
    if name not in NAMES:
        raise KeyError(f"there is no failpoint '{name}'; there are {', '.join(sorted(NAMES))}")


def _exit() -> None:
    os._exit(137)
