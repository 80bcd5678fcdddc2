"""What of agents runs in this event loop."""

import asyncio
from typing import Any


def running_tasks() -> set[asyncio.Task[Any]]:
    """The tasks of agents and of the protocol; others in the process, such as the adb server's, come and go."""
    return {task for task in asyncio.all_tasks() if any(room in repr(task) for room in ("workers/agent", "/acp/"))}
