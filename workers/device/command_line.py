"""Command lines for a phone's shell, made of argument lists. Nothing else may write one."""

import shlex
from collections.abc import Sequence
from typing import NewType

CommandLine = NewType("CommandLine", str)


def command(*argv: str | int) -> CommandLine:
    """One command; each argument arrives as it is, whatever characters it holds."""
    return CommandLine(shlex.join(str(argument) for argument in argv))


def in_sequence(lines: Sequence[CommandLine]) -> CommandLine:
    """All of them one after the other, whatever each one's exit code."""
    return CommandLine("; ".join(lines))


def while_successful(lines: Sequence[CommandLine]) -> CommandLine:
    """One after the other, up to the first that fails."""
    return CommandLine(" && ".join(lines))
