"""The services that run commands: `shell:` (raw), `shell,v2:` (packets with an exit code) and `exec:` (raw).

A v2 packet is one byte of kind, four of length, then data: 0 stdin, 1 stdout, 2 stderr, 3 exit, 4 stdin closed.
"""

import asyncio
import struct
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from workers.phone.adbd.stream import Stream, StreamClosed
from workers.phone.shell.interpreter import Interpreter, Outcome
from workers.phone.strike import ClientGone, ConnectionCut, OutputTrickles

if TYPE_CHECKING:
    from workers.phone.phone import Phone

_STDIN, _STDOUT, _STDERR, _EXIT, _CLOSE_STDIN = range(5)
_PACKET = struct.Struct("<BI")
_INTERRUPT, _END_OF_INPUT, _ERASE = 3, 4, b"\x7f\b"
#: A client that sends more than this as the input of a command has mistaken it for a push.
_MAX_STDIN_BYTES = 8 * 1024 * 1024
_READS_INPUT = ("cat", "grep", "wc", "base64")


class ShellService:
    """One command, or one interactive shell when the command is empty."""

    def __init__(self, phone: "Phone", *, service: str, command: str) -> None:
        self._phone = phone
        self._command = command
        kind, *options = service.split(",")
        self._is_packeted = "v2" in options
        self._has_terminal = kind == "shell" and "raw" not in options and (self._is_packeted or not command)
        self._service = "shell,v2" if self._is_packeted else kind

    async def __call__(self, stream: Stream) -> None:
        interpreter = Interpreter(self._phone, service=self._service, hung_up=stream.closed)
        try:
            if self._command:
                stdin = await self._whole_input(stream) if self._wants_input else b""
                await self._send(stream, await interpreter.run(self._command, stdin=stdin))
            else:
                await self._converse(stream, interpreter)
        except ConnectionCut:
            stream.drop_connection()
        except OutputTrickles as trickle:
            while True:
                await self._print(stream, b".")
                await asyncio.sleep(trickle.interval_seconds)
        except ClientGone:
            pass

    @property
    def _wants_input(self) -> bool:
        """Whether the command would wait for input: only then may the client's silence hold it up."""
        words = self._command.split()
        return words[0] in _READS_INPUT and len(words) == 1

    async def _send(self, stream: Stream, outcome: Outcome) -> None:
        if not self._is_packeted:
            await stream.write(outcome.stdout + outcome.stderr)
            return
        packets = [
            _PACKET.pack(kind, len(output)) + output
            for kind, output in ((_STDOUT, outcome.stdout), (_STDERR, outcome.stderr))
            if output
        ]
        await stream.write(b"".join(packets) + _PACKET.pack(_EXIT, 1) + bytes([outcome.exit_code & 0xFF]))

    async def _print(self, stream: Stream, text: bytes) -> None:
        await stream.write(_PACKET.pack(_STDOUT, len(text)) + text if self._is_packeted else text)

    async def _next_input(self, stream: Stream) -> bytes:
        """What was typed next; empty at the end of input."""
        while True:
            if not self._is_packeted:
                return await stream.read()
            try:
                kind, length = _PACKET.unpack(await stream.read_exactly(_PACKET.size))
                data = await stream.read_exactly(min(length, _MAX_STDIN_BYTES))
            except StreamClosed:
                return b""
            if kind == _CLOSE_STDIN:
                return b""
            if kind == _STDIN and data:  # the rest are window sizes
                return data

    async def _whole_input(self, stream: Stream) -> bytes:
        collected = bytearray()
        while len(collected) < _MAX_STDIN_BYTES and (data := await self._next_input(stream)):
            collected += data
        return bytes(collected)

    async def _converse(self, stream: Stream, interpreter: Interpreter) -> None:
        exit_code = 0
        await self._prompt(stream)
        async for command in self._typed_lines(stream):
            if command.split()[:1] == ["exit"]:
                code = "".join(command.split()[1:2])
                exit_code = int(code) if code.isdecimal() else exit_code
                break
            outcome = await interpreter.run(command)
            exit_code = outcome.exit_code
            await self._print(stream, self._as_terminal(outcome.stdout + outcome.stderr))
            await self._prompt(stream)
        await self._send(stream, Outcome(b"", b"", exit_code))

    async def _typed_lines(self, stream: Stream) -> AsyncIterator[str]:
        line = bytearray()
        while data := await self._next_input(stream):
            for byte in data:
                if byte in b"\r\n":
                    await self._echo(stream, b"\r\n")
                    yield line.decode(errors="replace")
                    line.clear()
                elif byte == _END_OF_INPUT:
                    return
                elif byte == _INTERRUPT:
                    line.clear()
                    await self._echo(stream, b"^C\r\n")
                    await self._prompt(stream)
                elif byte in _ERASE:
                    await self._echo(stream, b"\b \b" if line else b"")
                    del line[-1:]
                else:
                    line.append(byte)
                    await self._echo(stream, bytes([byte]))
        if line:
            yield line.decode(errors="replace")

    async def _prompt(self, stream: Stream) -> None:
        if self._has_terminal:
            await self._print(stream, f"{self._phone.serial}:/ $ ".encode())

    async def _echo(self, stream: Stream, text: bytes) -> None:
        if self._has_terminal and text:
            await self._print(stream, text)

    def _as_terminal(self, output: bytes) -> bytes:
        return output.replace(b"\n", b"\r\n") if self._has_terminal else output
