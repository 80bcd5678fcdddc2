"""Read a session's log from disk."""

from pathlib import Path

from pydantic import ValidationError

from workers.agent.session.events import EVENT, SessionEvent, SessionStart


class UnreadableSession(ValueError):
    """This log is not what a session writes; the message names the line and what is wrong with it."""


def read_session(path: Path) -> list[SessionEvent]:
    """The events of a log, as they were recorded.

    A last line without its line feed was being written when the writer died, and is left out; what the log then lacks,
    `closing_events` says.

    Raises:
        UnreadableSession: a line is no event, has fields that do not belong to it, or is in the wrong place.
    """
    content = path.read_bytes()
    # Cut before it is decoded: a torn line may end in the middle of a character.
    whole = content[: content.rfind(b"\n") + 1]
    try:
        lines = whole.decode().split("\n")[:-1]
    except UnicodeDecodeError as error:
        raise UnreadableSession(f"{path.name}: is not UTF-8 text ({error.reason} at byte {error.start})") from error
    events = [_event(line, f"{path.name}:{number}") for number, line in enumerate(lines, start=1)]
    if not events or not isinstance(events[0], SessionStart):
        raise UnreadableSession(f"{path.name}:1: a log begins with session/start")
    for number, event in enumerate(events[1:], start=2):
        if isinstance(event, SessionStart):
            raise UnreadableSession(f"{path.name}:{number}: a second session/start")
    return events


def _event(line: str, place: str) -> SessionEvent:
    try:
        return EVENT.validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UnreadableSession(f"{place}: {where or 'the line'}: {first['msg']}") from error
