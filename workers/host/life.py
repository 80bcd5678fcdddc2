"""How the life of a host ends: two verbs, and one thing that happens to it."""

import asyncio
from collections.abc import Awaitable
from enum import IntEnum
from typing import ClassVar

import structlog

log = structlog.get_logger()


class ExitCode(IntEnum):
    """What the process ends with, for whoever supervises it."""

    OK = 0
    #: Settings are missing or wrong, or the control plane refused the token: a person has to look.
    NOT_CONFIGURED = 2
    STATE_FOLDER_IN_USE = 3
    #: A later life of this host has spoken; starting again would only take its place in turn.
    REPLACED = 4
    ADB_FAILED = 5


class CannotStart(Exception):
    """This host cannot begin its life; the message says what is wrong and what would be right."""

    exit_code: ClassVar[ExitCode]


async def exit_code_of(run: Awaitable[int]) -> int:
    """The exit code of a run, also of one that could not start: the log says why."""
    try:
        return await run
    except CannotStart as reason:
        log.error("host.not_started", error=str(reason))  # noqa: TRY400 - the message says all that can be done
        return reason.exit_code


class HostLife:
    """What the loops look at to know whether to go on."""

    def __init__(self) -> None:
        #: No more claims; what runs goes on.
        self.draining = asyncio.Event()
        #: What runs ends at its next boundary; each report is tried once.
        self.stopping = asyncio.Event()
        self.exit_code = ExitCode.OK

    def drain(self) -> None:
        """Take no more work, finish what there is, then end."""
        self.draining.set()

    def stop_now(self) -> None:
        """End as soon as the actions in flight have ended."""
        self.draining.set()
        self.stopping.set()

    def end_refused(self) -> None:
        """The control plane does not know this host, and nothing runs that could be lost."""
        self.exit_code = ExitCode.NOT_CONFIGURED
        self.stop_now()

    def end_replaced(self) -> None:
        """Another life of this host has taken its leases."""
        self.exit_code = ExitCode.REPLACED
        self.stop_now()
