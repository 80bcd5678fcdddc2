"""Why a flow was refused: always with the place, and with what is allowed there."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where in which file, and under which command."""

    file: str
    line: int | None = None
    command: str | None = None


class FlowError(Exception):
    """This flow cannot be run as it is written."""

    def __init__(self, message: str, place: Place, *, allowed: Iterable[str] = (), given: str | None = None) -> None:
        """`given` is what the author wrote where one of `allowed` belongs; the nearest of them is suggested."""
        self.message = message
        self.file = place.file
        self.line = place.line
        self.command = place.command
        self.allowed = tuple(allowed)
        self.suggestion = _nearest(given, self.allowed)
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        is_named = self.command is None or self.message.startswith(f"`{self.command}`")
        sentence = f"{where}: {self.message}" if is_named else f"{where}: {self.command}: {self.message}"
        if self.suggestion:
            sentence += f". Did you mean `{self.suggestion}`?"
        if self.allowed:
            sentence += f" (allowed: {', '.join(self.allowed)})"
        return sentence


class InvalidYaml(FlowError):
    """The text is not YAML, or uses a part of YAML that flows do without."""


class InvalidHeader(FlowError):
    """The document before `---`, which names the app, is missing or wrong."""


class UnknownCommand(FlowError):
    """There is no command of this name."""


class UnsupportedCommand(FlowError):
    """Maestro has this command; it is not built here."""


class UnsupportedExpression(FlowError):
    """JavaScript is not evaluated here; only `${NAME}` is."""


class UndefinedVariable(FlowError):
    """A `${NAME}` that nobody gave a value."""


class InvalidCommand(FlowError):
    """A command with an unknown field, without a field it needs, or with a value that cannot be."""


class FlowFileMissing(FlowError):
    """A flow runs a file that was not submitted with it."""


class FlowTooLarge(FlowError):
    """The flow is beyond one of the limits."""


def _nearest(given: str | None, allowed: Iterable[str]) -> str | None:
    if given is None:
        return None
    by_lower = {name.lower(): name for name in allowed}
    matches = difflib.get_close_matches(given[:100].lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[matches[0]] if matches else None
