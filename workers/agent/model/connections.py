"""The connections that a request holds open, so that they are closed when the request has ended, however it ended.

A library that reads through several generators does not close its connection when it is cancelled between two of
them: that is left to the garbage collector, and meanwhile the provider goes on to write, and to bill.
"""

import asyncio
from weakref import WeakKeyDictionary

import httpx2

Task = asyncio.Task[object]


class Connections:
    """Responses by the task that asked for them."""

    def __init__(self) -> None:
        self._open: WeakKeyDictionary[Task, list[httpx2.Response]] = WeakKeyDictionary()

    async def note(self, response: httpx2.Response) -> None:
        """A hook of the HTTP client: it is called for each response, before its content is read."""
        task = asyncio.current_task()
        if task is not None:
            self._open.setdefault(task, []).append(response)

    async def close(self) -> None:
        """Closes what the current task has opened. Nothing happens to what is closed already."""
        task = asyncio.current_task()
        for response in self._open.pop(task, []) if task is not None else []:
            await response.aclose()
