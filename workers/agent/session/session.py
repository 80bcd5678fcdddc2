"""A session as its agent writes it: events in memory, and line by line on disk."""

import asyncio
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from corral.contract.identifiers import uuid7
from workers.agent.messages import Image, Message, ToolMessage
from workers.agent.session.events import EVENT, Seed, SessionEvent, SessionStart, TurnStart
from workers.agent.session.replay import messages_of, request_messages

#: Pictures shown to the model in one request: the latest matter, and each costs more than a page of text.
SHOWN_IMAGES = 2

#: Fields that are the log's own words, or name a thing: a secret that happens to read `done` must not break them.
_NOT_REDACTED = frozenset({
    "event", "kind", "role", "status", "source", "code", "budget", "tool", "provider", "signature",
    "session_id", "parent_session_id", "forked_from", "call_id", "sha256", "media_type",
})  # fmt: skip


class Session:
    """Append-only. What is recorded is redacted first, and read back redacted: there is no other copy.

    With a `path`, each event is written as it happens and is on disk after `flush`; pictures go into the folder
    beside it. Without, the session lives in memory.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        redact: Callable[[str], str] | None = None,
        parent_session_id: str | None = None,
        history: Iterable[Message] = (),
        forked_from: str | None = None,
    ) -> None:
        """`history` is what the session begins with, the messages of `forked_from`.

        Raises:
            FileExistsError: there is a log at `path`; read it with `read_session`, and write to another.
        """
        self.session_id = str(uuid7())
        self.path = path
        self._redact = redact
        self._events: list[SessionEvent] = []
        self._shown: dict[str, bytes] = {}
        self._children = 0
        self._file = None if path is None else path.open("x", encoding="utf-8")
        self.record(
            SessionStart(session_id=self.session_id, parent_session_id=parent_session_id, forked_from=forked_from)
        )
        for message in history:
            self.record(Seed(message=message))

    @property
    def events(self) -> tuple[SessionEvent, ...]:
        return tuple(self._events)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The history, without any turn's prefix."""
        return messages_of(self._events)

    @property
    def turns(self) -> int:
        """How many turns have begun."""
        return sum(isinstance(event, TurnStart) for event in self._events)

    @property
    def images_folder(self) -> Path | None:
        return None if self.path is None else self.path.with_suffix(".images")

    def request_messages(self) -> tuple[tuple[Message, ...], Mapping[str, bytes]]:
        """What the next request says, and the bytes of the pictures that it shows."""
        messages = request_messages(self._events)
        named = [image.sha256 for message in messages if isinstance(message, ToolMessage) for image in message.images]
        shown = [sha256 for sha256 in dict.fromkeys(reversed(named)) if sha256 in self._shown][:SHOWN_IMAGES]
        self._shown = {sha256: self._shown[sha256] for sha256 in shown}
        return messages, dict(self._shown)

    def new_child(self, *, history: Iterable[Message] = (), forked_from: str | None = None) -> "Session":
        """A session for an agent that this one's agent started: redacted the same, and logged beside it.

        The logs of the children of `goal.jsonl` are `goal-1.jsonl`, `goal-2.jsonl`, and so on.
        """
        self._children += 1
        return Session(
            None if self.path is None else self.path.with_stem(f"{self.path.stem}-{self._children}"),
            redact=self._redact,
            parent_session_id=self.session_id,
            history=history,
            forked_from=forked_from,
        )

    def record(self, event: SessionEvent) -> SessionEvent:
        """Appends the event, and returns it as it was recorded."""
        if self._redact is not None:
            event = EVENT.validate_python(_redacted(event.model_dump(), self._redact))
        line = event.model_dump_json() + "\n"
        if self._file is not None:
            self._file.write(line)
            self._file.flush()
        self._events.append(event)
        return event

    async def keep_image(self, content: bytes, media_type: str = "image/png") -> Image:
        """Keeps a picture beside the log and names it by its content."""
        image = Image(sha256=hashlib.sha256(content).hexdigest(), media_type=media_type)
        self._shown[image.sha256] = content
        if self.images_folder is not None:
            await asyncio.to_thread(_write_once, self.images_folder / f"{image.sha256}.png", content)
        return image

    async def flush(self) -> None:
        """Returns when all that was recorded is on disk."""
        if self._file is not None:
            await asyncio.to_thread(os.fsync, self._file.fileno())

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _redacted(value: Any, redact: Callable[[str], str]) -> Any:
    match value:
        case str():
            return redact(value)
        case dict():
            fields = cast("dict[str, Any]", value)
            return {key: item if key in _NOT_REDACTED else _redacted(item, redact) for key, item in fields.items()}
        case list() | tuple():
            return [_redacted(item, redact) for item in cast("list[Any]", value)]
        case _:
            return value


def _write_once(path: Path, content: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        path.write_bytes(content)
