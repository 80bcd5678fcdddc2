"""Runs the steps of a line: connectors, pipes, redirections, and faults that were ordered for a command."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workers.phone.files import FileRefused
from workers.phone.shell.call import Call, is_action
from workers.phone.shell.commands import COMMANDS
from workers.phone.shell.fault_orders import corral_fault
from workers.phone.shell.reader import Redirection, ShellSyntaxError, Simple, Step, Variable, Word, parse
from workers.phone.strike import run_under_faults

if TYPE_CHECKING:
    from workers.phone.phone import Phone

COMMAND_NOT_FOUND = 127
_SYNTAX_ERROR = 1
_ENVIRONMENT = {
    "HOME": "/",
    "USER": "shell",
    "SHELL": "/bin/sh",
    "EXTERNAL_STORAGE": "/sdcard",
    "PATH": "/system/bin",
    "TMPDIR": "/data/local/tmp",
    "PWD": "/",
    "$": "4242",
}


@dataclass(slots=True)
class Outcome:
    stdout: bytes
    stderr: bytes
    exit_code: int


class Interpreter:
    """One shell process: `$?` lives as long as it does."""

    def __init__(self, phone: "Phone", *, service: str, hung_up: asyncio.Event) -> None:
        self._phone = phone
        self._service = service
        self._hung_up = hung_up
        self._last_exit_code = 0

    async def run(self, line: str, *, stdin: bytes = b"") -> Outcome:
        """Run a whole line.

        Raises:
            ConnectionCut, ClientGone, OutputTrickles: a fault struck one of its commands.
        """
        try:
            steps = parse(line)
        except ShellSyntaxError as error:
            self._last_exit_code = _SYNTAX_ERROR
            return Outcome(b"", f"/system/bin/sh: syntax error: {error}\n".encode(), _SYNTAX_ERROR)
        out, err = bytearray(), bytearray()
        for step in steps:
            if self._is_due(step):
                await self._pipeline(step, stdin, out=out, err=err)
        return Outcome(bytes(out), bytes(err), self._last_exit_code)

    def _is_due(self, step: Step) -> bool:
        match step.connector:
            case "&&":
                return self._last_exit_code == 0
            case "||":
                return self._last_exit_code != 0
            case _:
                return True

    async def _pipeline(self, step: Step, stdin: bytes, *, out: bytearray, err: bytearray) -> None:
        piped = stdin
        for command in step.commands:
            call = await self._simple(command, piped)
            piped = bytes(call.stdout)
            err += call.stderr
        out += piped

    async def _simple(self, command: Simple, stdin: bytes) -> Call:
        call = Call(self._phone, tuple(self._text(word) for word in command.words), self._hung_up, stdin)
        try:
            self._read_input(call, command.redirections)
            self._last_exit_code = await self._invoke(call) if call.argv else 0
            self._redirect(call, command.redirections)
        except FileRefused as refused:
            self._last_exit_code = call.fail(f"/system/bin/sh: {refused}")
        return call

    async def _invoke(self, call: Call) -> int:
        function = COMMANDS.get(call.argv[0].rpartition("/")[2])
        if function is None:
            missing = f"/system/bin/sh: {call.argv[0]}: inaccessible or not found"
            return call.fail(missing, exit_code=COMMAND_NOT_FOUND)
        command = " ".join(call.argv)
        with self._phone.log.recording(service=self._service, command=command, is_action=is_action(call.argv)) as entry:
            # Orders must come through whatever was ordered before.
            if function is corral_fault:
                entry.exit_code = await function(call)
            else:
                entry.exit_code = await run_under_faults(self._phone.faults, command, call, lambda: function(call))
            return entry.exit_code

    def _text(self, word: Word) -> str:
        return "".join(self._value(part) if isinstance(part, Variable) else part for part in word.parts)

    def _value(self, variable: Variable) -> str:
        return str(self._last_exit_code) if variable.name == "?" else _ENVIRONMENT.get(variable.name, "")

    def _read_input(self, call: Call, redirections: list[Redirection]) -> None:
        for redirection in redirections:
            if redirection.operator == "<":
                path = self._text(redirection.target)
                call.stdin = b"" if path == "/dev/null" else self._phone.files.read(path)

    def _redirect(self, call: Call, redirections: list[Redirection]) -> None:
        # Right to left: in `>FILE 2>&1` the errors join the output on its way to the file.
        for redirection in reversed(redirections):
            target = self._text(redirection.target)
            source = call.stderr if redirection.descriptor == 2 else call.stdout  # noqa: PLR2004 - the error output
            if redirection.operator == ">&":
                (call.stdout if target == "1" else call.stderr).extend(source)
            elif redirection.operator in {">", ">>"} and target != "/dev/null":
                before = self._phone.files.find(target) if redirection.operator == ">>" else None
                self._phone.files.write(target, (before.content if before else b"") + bytes(source))
            if redirection.operator != "<":
                source.clear()
