r"""Turns a line of shell into steps. Knows quotes, `$NAME`, `$?`, `;`, `&&`, `||`, `|`, `>`, `>>`, `2>&1`, `<`.

What a phone's `sh` has beyond that (`$(…)`, loops, patterns) is refused by name rather than misread.
"""

import re
from dataclasses import dataclass, field
from typing import Literal

Connector = Literal["", "&&", "||"]

_OPERATORS = ("&&", "||", ";", "|", "\n", "&")
_VARIABLE = re.compile(r"[?$]|[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL = frozenset(" \t\n;|&<>()'\"\\$`#")


class ShellSyntaxError(Exception):
    """This line cannot be read; the text says at which token."""


@dataclass(frozen=True, slots=True)
class Variable:
    name: str


@dataclass(frozen=True, slots=True)
class Word:
    parts: tuple[str | Variable, ...]


@dataclass(frozen=True, slots=True)
class Redirection:
    """`>`, `>>`, `<` to a file, or `>&` to the other output (then `target` is "1" or "2")."""

    descriptor: int
    operator: Literal[">", ">>", "<", ">&"]
    target: Word


@dataclass(slots=True)
class Simple:
    words: list[Word] = field(default_factory=list[Word])
    redirections: list[Redirection] = field(default_factory=list[Redirection])


@dataclass(slots=True)
class Step:
    """One pipeline, and on what result of the step before it depends."""

    connector: Connector
    commands: list[Simple]


def parse(line: str) -> list[Step]:
    """The steps of a line.

    Raises:
        ShellSyntaxError: an open quote, a dangling operator, or shell that this phone does not have.
    """
    return _Parser(line).steps()


class _Parser:
    def __init__(self, line: str) -> None:
        self._line = line
        self._at = 0

    def steps(self) -> list[Step]:
        found: list[Step] = []
        connector: Connector = ""
        while True:
            commands, operator = self._pipeline()
            if commands:
                found.append(Step(connector, commands))
            elif connector or operator in {"&&", "||"}:
                raise ShellSyntaxError(f"unexpected '{operator or 'end of line'}'")
            if operator is None:
                return found
            connector = "&&" if operator == "&&" else "||" if operator == "||" else ""

    def _pipeline(self) -> tuple[list[Simple], str | None]:
        commands: list[Simple] = []
        while True:
            command, operator = self._simple()
            if command.words or command.redirections:
                commands.append(command)
            elif operator == "|" or commands:
                raise ShellSyntaxError(f"unexpected '{operator or 'end of line'}'")
            if operator != "|":
                return commands, operator

    def _simple(self) -> tuple[Simple, str | None]:
        command = Simple()
        while True:
            self._skip_blanks()
            if self._at >= len(self._line):
                return command, None
            if (operator := self._operator()) is not None:
                return command, operator
            if (redirection := self._redirection()) is not None:
                command.redirections.append(redirection)
            else:
                command.words.append(self._word())

    def _skip_blanks(self) -> None:
        while self._at < len(self._line) and self._line[self._at] in " \t\r":
            self._at += 1
        if self._line.startswith("#", self._at):
            end = self._line.find("\n", self._at)
            self._at = len(self._line) if end < 0 else end

    def _operator(self) -> str | None:
        for operator in _OPERATORS:
            if self._line.startswith(operator, self._at):
                self._at += len(operator)
                return operator
        return None

    def _redirection(self) -> Redirection | None:
        start = self._at
        descriptor = None
        if self._line[start] in "012" and self._line[start + 1 : start + 2] in {"<", ">"}:
            descriptor = int(self._line[start])
            start += 1
        for operator in (">>", ">&", ">", "<"):
            if self._line.startswith(operator, start):
                self._at = start + len(operator)
                self._skip_blanks()
                default = 0 if operator == "<" else 1
                return Redirection(default if descriptor is None else descriptor, operator, self._word())
        return None

    def _word(self) -> Word:
        parts: list[str | Variable] = []
        start = self._at
        while self._at < len(self._line):
            char = self._line[self._at]
            if char == "'":
                parts.append(self._single_quoted())
            elif char == '"':
                parts.extend(self._double_quoted())
            elif char == "\\":
                parts.append(self._line[self._at + 1 : self._at + 2])
                self._at += 2
            elif char == "$":
                parts.append(self._variable())
            elif char in "`()":
                raise ShellSyntaxError(f"unexpected '{char}': this phone's shell has no substitutions and no subshells")
            elif char in _SPECIAL and char != "#":
                break
            else:
                parts.append(char)
                self._at += 1
        if self._at == start:
            raise ShellSyntaxError(f"unexpected '{self._line[start : start + 1] or 'end of line'}'")
        return Word(_joined(parts))

    def _single_quoted(self) -> str:
        end = self._line.find("'", self._at + 1)
        if end < 0:
            raise ShellSyntaxError("no closing quote")
        text = self._line[self._at + 1 : end]
        self._at = end + 1
        return text

    def _double_quoted(self) -> list[str | Variable]:
        parts: list[str | Variable] = [""]
        self._at += 1
        while self._at < len(self._line):
            char = self._line[self._at]
            if char == '"':
                self._at += 1
                return parts
            if char == "\\" and self._line[self._at + 1 : self._at + 2] in {"\\", '"', "$", "`"}:
                parts.append(self._line[self._at + 1])
                self._at += 2
            elif char == "$":
                parts.append(self._variable())
            else:
                parts.append(char)
                self._at += 1
        raise ShellSyntaxError("no closing quote")

    def _variable(self) -> str | Variable:
        self._at += 1
        rest = self._line[self._at :]
        if rest.startswith(("(", "{")):
            raise ShellSyntaxError(f"unexpected '${rest[0]}': this phone's shell has no substitutions")
        name = _VARIABLE.match(rest)
        if name is None:
            return "$"
        self._at += name.end()
        return Variable(name.group())


def _joined(parts: list[str | Variable]) -> tuple[str | Variable, ...]:
    merged: list[str | Variable] = []
    for part in parts:
        last = merged[-1] if merged else None
        if isinstance(part, str) and isinstance(last, str):
            merged[-1] = last + part
        else:
            merged.append(part)
    return tuple(merged)
