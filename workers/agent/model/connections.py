"""The connections that a request holds open, so that they are closed when the request has ended, however it ended.

A library that reads through several generators does not close its connection when it is cancelled between two of
them: that is left to the garbage collector, and meanwhile the provider goes on to write, and to bill.
"""

import asyncio
from collections.abc import AsyncIterator
from weakref import WeakKeyDictionary

import httpx2

#: Of one response, as it comes over the wire: more than 100,000 tokens, each in an event of its own. A model, or what
#: answers in its place, that goes on for ever would otherwise take the memory of all the runs of this host.
MAX_ANSWER_BYTES = 32 * 1024 * 1024

Task = asyncio.Task[object]


class AnswerTooLarge(Exception):
    """The response has no end that anybody wants to wait for; close it."""

    def __init__(self) -> None:
        super().__init__(f"the answer is larger than {MAX_ANSWER_BYTES // 1024 // 1024} MB")


class NotAModel(Exception):
    """What answers at this URL is a page for people; correct the URL, or sign in where it asks for it."""

    def __init__(self) -> None:
        super().__init__("a web page answered instead of a model (text/html); is the model's URL right?")


class _WebPage(httpx2.AsyncByteStream):
    """Raised here, and not by the hook, whose errors the libraries of the providers take for a lost connection."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        raise NotAModel
        yield b""

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Bounded(httpx2.AsyncByteStream):
    """Counts what is read of a response."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream
        self._pieces = aiter(stream)
        self._bytes_left = MAX_ANSWER_BYTES

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        piece = await anext(self._pieces)
        self._bytes_left -= len(piece)
        if self._bytes_left < 0:
            raise AnswerTooLarge
        return piece

    async def aclose(self) -> None:
        await self._stream.aclose()


class Connections:
    """Responses by the task that asked for them."""

    def __init__(self) -> None:
        self._open: WeakKeyDictionary[Task, list[httpx2.Response]] = WeakKeyDictionary()

    async def note(self, response: httpx2.Response) -> None:
        """A hook of the HTTP client: it is called for each response, before its content is read.

        What is read of it ends with `AnswerTooLarge` where it is larger than an answer can be, and with `NotAModel`
        where it is a page. The page of an error says no more than its status, which is told.
        """
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = (_WebPage if _is_web_page(response) else _Bounded)(response.stream)
        task = asyncio.current_task()
        if task is not None:
            self._open.setdefault(task, []).append(response)

    async def close(self) -> None:
        """Closes what the current task has opened. Nothing happens to what is closed already."""
        task = asyncio.current_task()
        for response in self._open.pop(task, []) if task is not None else []:
            await response.aclose()


def _is_web_page(response: httpx2.Response) -> bool:
    return response.is_success and response.headers.get("content-type", "").lower().startswith("text/html")
