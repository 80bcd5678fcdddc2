"""A session as its agent writes it: events in memory, and line by line on disk."""

import asyncio
import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar, cast

from pydantic_core import to_json

from corral.contract.identifiers import uuid7
from workers.agent.messages import Image, Message, ToolMessage
from workers.agent.session.events import EVENT, Seed, SessionEvent, SessionStart, TurnStart
from workers.agent.session.redaction import redacted_fields, unchanged_text
from workers.agent.session.replay import messages_of, request_messages

#: Pictures shown to the model in one request: the latest matter, and each costs more than a page of text.
SHOWN_IMAGES = 2

EventT = TypeVar("EventT", bound=SessionEvent)


class LogUnwritable(Exception):
    """The log can no longer be written, so nothing that goes on from here would be in it: end the turn."""

    code = "log_unwritable"

    def __init__(self, trouble: OSError) -> None:
        super().__init__(f"the log cannot be written: {trouble}")


class Session:
    """Append-only. What is recorded is redacted first, and read back as the log has it: there is no other copy.

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
        self._trouble: OSError | None = None
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

    @property
    def is_redacted(self) -> bool:
        """Something of what is recorded may be replaced."""
        return self._redact is not None

    def redacted(self, text: str) -> str:
        """The text as it would be recorded."""
        return text if self._redact is None else self._redact(text)

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

    def record(self, event: EventT) -> EventT:
        """Appends the event, and returns it as it was recorded.

        Raises:
            LogUnwritable: it could not be written, and neither can any other from here on.
        """
        line = to_json(
            redacted_fields(event.model_dump(), self._redact or unchanged_text), inf_nan_mode="null"
        ).decode()
        # From the line, not from what was handed in: JSON knows neither NaN nor tuples.
        recorded = cast("EventT", EVENT.validate_json(line))
        self._write(line + "\n")
        self._events.append(recorded)
        return recorded

    async def keep_image(self, content: bytes, media_type: str = "image/png") -> Image:
        """Keeps a picture beside the log and names it by its content. Raises `LogUnwritable`."""
        image = Image(sha256=hashlib.sha256(content).hexdigest(), media_type=media_type)
        self._shown[image.sha256] = content
        if self.images_folder is not None:
            try:
                await asyncio.to_thread(_write_once, self.images_folder / f"{image.sha256}.png", content)
            except OSError as trouble:
                raise LogUnwritable(trouble) from trouble
        return image

    async def flush(self) -> None:
        """Returns when all that was recorded is on disk. Raises `LogUnwritable`."""
        if self._file is None:
            return
        try:
            await asyncio.to_thread(os.fsync, self._file.fileno())
        except OSError as trouble:
            self._trouble = trouble
            raise LogUnwritable(trouble) from trouble

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            # What it could not write has failed its turn by now.
            with contextlib.suppress(OSError):
                file.close()

    def _write(self, line: str) -> None:
        if self._file is None:
            return
        if self._trouble is not None:
            # Not even if there is room again: no log has a hole.
            raise LogUnwritable(self._trouble) from self._trouble
        try:
            self._file.write(line)
            self._file.flush()
        except OSError as trouble:
            self._trouble = trouble
            raise LogUnwritable(trouble) from trouble


def _write_once(path: Path, content: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        path.write_bytes(content)
