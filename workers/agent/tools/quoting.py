"""Texts of a screen as part of a line for the model.

What a screen shows is data. Quoted, it stays within its quotes and its line, so that it can pretend neither to be
another element nor to be a word of ours.
"""

import json

#: A longer text is cut; `read_text` gives the whole of it.
MAX_TEXT_CHARACTERS = 200


def quoted(text: str, *, limit: int = MAX_TEXT_CHARACTERS) -> str:
    """The text as a JSON string, in which all that is not printable is escaped; a cut is marked by `…`."""
    shown = text if len(text) <= limit else f"{text[:limit]}…"
    return f'"{"".join(_escaped(letter) for letter in shown)}"'


def _escaped(letter: str) -> str:
    if letter.isprintable() and letter not in '"\\':
        return letter
    return json.dumps(letter)[1:-1]
