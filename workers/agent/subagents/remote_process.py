"""The process of a remote agent: started in a group of its own, and ended with all that it started."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from acp import default_environment

#: An agent that is told to end writes its history first; one that takes longer is not going to.
END_SECONDS = 2.0


class CannotStart(Exception):
    """The command of this agent cannot be run; the message says why."""


@asynccontextmanager
async def agent_process(
    command: Sequence[str], *, env: Mapping[str, str], cwd: Path
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """The running process, whose standard error goes where ours goes. It has ended when the block is left.

    It inherits PATH, HOME and the like, and none of our own settings and keys: `env` is what it gets besides.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=default_environment() | dict(env),
            cwd=cwd,
            # What starts agents (npx, uvx) does not pass on a signal: the whole group gets it.
            start_new_session=True,
        )
    except OSError as trouble:
        raise CannotStart(f"`{command[0]}` cannot be started: {trouble.strerror}") from trouble
    try:
        yield process
    finally:
        await end_process(process)


async def end_process(process: asyncio.subprocess.Process) -> None:
    """Ends it with its group: first by the end of its input, then politely, then by force. It is reaped."""
    if process.returncode is not None:
        # Reaped already: its number may belong to somebody else by now.
        return
    if process.stdin is not None:
        process.stdin.close()
    for ending in (None, signal.SIGTERM, signal.SIGKILL):
        if ending is not None:
            _signal_group(process, ending)
        if await _ends_soon(process):
            break
    # What it started may have outlived it.
    _signal_group(process, signal.SIGKILL)


async def _ends_soon(process: asyncio.subprocess.Process) -> bool:
    # Not by the wait alone: that also waits for whoever else holds the other ends of its pipes.
    with suppress(TimeoutError):
        async with asyncio.timeout(END_SECONDS):
            await process.wait()
    return process.returncode is not None


def _signal_group(process: asyncio.subprocess.Process, ending: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, ending)
