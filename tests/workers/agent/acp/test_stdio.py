import asyncio
import json

import pytest

from workers.agent.acp import stdio
from workers.agent.acp.stdio import LineStream


@pytest.fixture(scope="module")
def anyio_backend():
    return "asyncio"


pytestmark = pytest.mark.anyio


class Written:
    """Stands for the writing end."""

    def __init__(self):
        self.lines = []

    def write(self, line):
        self.lines.append(json.loads(line))

    async def drain(self):
        pass


def stream_of(text: bytes, *, limit=1000):
    reader = asyncio.StreamReader(limit=limit)
    reader.feed_data(text)
    reader.feed_eof()
    written = Written()
    return LineStream(reader, written), written


async def test_each_line_is_a_message_and_the_end_is_the_end():
    stream, written = stream_of(b'{"id": 1}\n\n  \n{"id": 2}')
    assert [await stream.receive() for _ in range(3)] == [{"id": 1}, {"id": 2}, None]
    assert written.lines == []


@pytest.mark.parametrize("line", [b"5", b"[]", b"null", b"{", b"\xff\xfe", b"hello", b"[" * 500, b'"x"', b"x" * 3000])
async def test_what_is_no_message_is_refused_and_the_next_one_is_read(line):
    stream, written = stream_of(line + b'\n{"id": 1}\n')
    assert await stream.receive() == {"id": 1}
    assert {answer["error"]["code"] for answer in written.lines} == {-32700}
    assert written.lines[0]["id"] is None


async def test_what_json_does_not_know_is_written_as_text():
    stream, written = stream_of(b"")
    await stream.send({"error": ValueError("so it is")})
    assert written.lines == [{"error": "so it is"}]


def test_a_line_may_hold_a_long_prompt():
    assert stdio.MAX_LINE_BYTES > 500_000 * 6
