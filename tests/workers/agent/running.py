"""What of agents runs in this event loop, and how often races are."""

import asyncio
import os
from typing import Any

#: How often each race is run. `CORRAL_RACES=500` for a longer look than the suite has time for.
RACE_TIMES = int(os.environ.get("CORRAL_RACES", "60"))


def running_tasks() -> set[asyncio.Task[Any]]:
    """The tasks of agents and of the protocol; others in the process, such as the adb server's, come and go."""
    return {task for task in asyncio.all_tasks() if any(room in repr(task) for room in ("workers/agent", "/acp/"))}
