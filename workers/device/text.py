"""Text, as far as plain `input text` can type it.

The phone's `input text` types the printable characters of ASCII and turns each `%s` into a space; anything else ends in
a Java exception or is lost without a word. So text is checked before the first character is sent, and a `%s` is typed
in two pieces.
"""

import re

from workers.device.command_line import command
from workers.device.outcome import Done, ErrorCode, Failed, Outcome, Unknown
from workers.device.shell import Shell
from workers.device.verdict import outcome_of

#: Quoting can make five bytes of one, and old phones take a command line of 4,096 bytes.
PIECE_CHARACTERS = 500

#: Typing is slow, up to 20 ms a character: this much takes minutes. A longer text is a mistake.
MAX_CHARACTERS = 10_000

#: One `input text` of a full piece took ten seconds on slow phones.
_PIECE_DEADLINE_SECONDS = 30.0

_UNTYPABLE = re.compile(r"[^\x20-\x7e]")
_INSIDE_PERCENT_S = re.compile(r"(?<=%)(?=s)")


def refusal_of(text: str) -> Failed | None:
    """Why this text cannot be typed, or None."""
    if len(text) > MAX_CHARACTERS:
        return Failed(
            ErrorCode.TEXT_UNSUPPORTED, f"the text has {len(text)} characters; {MAX_CHARACTERS} can be typed at once"
        )
    untypable = _UNTYPABLE.search(text)
    if untypable is None:
        return None
    return Failed(
        ErrorCode.TEXT_UNSUPPORTED,
        f"character {untypable.start() + 1} of the text is U+{ord(untypable.group()):04X}; "
        "plain input types only printable ASCII characters, without line breaks and tabs",
    )


def pieces_of(text: str) -> list[str]:
    """The text in pieces of a length that every phone takes, none of which holds a `%s`."""
    return [
        part[start : start + PIECE_CHARACTERS]
        for part in _INSIDE_PERCENT_S.split(text)
        for start in range(0, len(part), PIECE_CHARACTERS)
    ]


def type_text(shell: Shell, text: str) -> Outcome:
    """Types the text into whatever has the focus; a failure says how much of it had been typed before."""
    refused = refusal_of(text)
    if refused is not None:
        return refused
    typed_characters = 0
    for piece in pieces_of(text):
        answer = shell.run(
            command("input", "text", piece), changes_device=True, deadline_seconds=_PIECE_DEADLINE_SECONDS
        )
        outcome = outcome_of(answer)
        if not isinstance(outcome, Done):
            return _with_progress(outcome, typed_characters, len(text))
        typed_characters += len(piece)
    return Done()


def _with_progress(outcome: Failed | Unknown, typed_characters: int, characters: int) -> Failed | Unknown:
    said = f"{outcome.message} (after {typed_characters} of {characters} characters had been typed)"
    return type(outcome)(outcome.code, said)
