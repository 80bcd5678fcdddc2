"""What was observed last, read from the text that the `observe` tool gave to the model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from workers.agent.messages import Message, ToolMessage

_OBSERVATION_ID = re.compile(r"^\s*observation_id:\s*(\S+)", re.MULTILINE)
_ELEMENT = re.compile(r"^\s*\[(\d+)\]\s*(.*)$", re.MULTILINE)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ID = re.compile(r"\bid=(\S+)")


@dataclass(frozen=True, slots=True)
class Observed:
    """`elements` are the lines of the elements, by index."""

    observation_id: str
    elements: dict[int, str]

    def index_of(self, text: str) -> int | None:
        """The first element whose text or id is `text`, else the first in whose line it stands."""
        for index, line in self.elements.items():
            if text in _names_of(line):
                return index
        return next((index for index, line in self.elements.items() if text.lower() in line.lower()), None)


def last_observed(messages: Sequence[Message]) -> Observed | None:
    """The last observation in what the tools said."""
    for message in reversed(messages):
        if isinstance(message, ToolMessage) and (found := _OBSERVATION_ID.search(message.text)):
            elements = {int(index): line for index, line in _ELEMENT.findall(message.text)}
            return Observed(found[1], elements)
    return None


def _names_of(line: str) -> list[str]:
    return [_unescaped(text) for text in _QUOTED.findall(line)] + _ID.findall(line)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
