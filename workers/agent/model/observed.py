"""What was observed last, read from the text that the `observe` tool gave to the model."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workers.agent.messages import Message, ToolMessage

_OBSERVATION_ID = re.compile(r"observation_id: (\S+)")
_ELEMENT = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_TEXT_OR_ID = re.compile(r'"(?:[^"\\]|\\.)*"|\bid=[^\s"]+')


@dataclass(frozen=True, slots=True)
class Observed:
    """`elements` are the texts and ids of each element, by its index."""

    observation_id: str
    elements: Mapping[int, tuple[str, ...]]

    def index_of(self, text: str) -> int | None:
        """The first element with exactly this text or id, else the first with a text in which it stands."""
        for index, names in self.elements.items():
            if text in names:
                return index
        part = text.lower()
        return next((index for index, names in self.elements.items() if part in "\n".join(names).lower()), None)


def last_observed(messages: Sequence[Message]) -> Observed | None:
    """The last observation among what the tools said."""
    for message in reversed(messages):
        if isinstance(message, ToolMessage) and message.tool == "observe" and message.status == "done":
            found = _OBSERVATION_ID.match(message.text)
            if found:
                elements = {int(index): _names(line) for index, line in _ELEMENT.findall(message.text)}
                return Observed(found[1], elements)
    return None


def _names(line: str) -> tuple[str, ...]:
    """Texts stand in the line as JSON strings, ids mostly without quotes."""
    found = _TEXT_OR_ID.findall(line)
    return tuple(json.loads(name) if name.startswith('"') else name.removeprefix("id=") for name in found)
