"""Makes XML of what phones write for it: emoji as two halves, control characters as they are."""

import re

_REFERENCES = re.compile(r"(?:&#(?:\d{1,7}|x[0-9a-fA-F]{1,6});)+")
_REFERENCE = re.compile(r"&#(?:(\d+)|x([0-9a-fA-F]+));")
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REPLACEMENT = "\ufffd"
_LAST_CHARACTER = 0x10FFFF


def legal_xml(document: bytes) -> str:
    """The document with halves joined, and U+FFFD in place of what XML does not allow."""
    text = document.decode(errors="replace")
    return _ILLEGAL.sub(_REPLACEMENT, _REFERENCES.sub(_legal_references, text))


def _legal_references(run: re.Match[str]) -> str:
    halves = "".join(_character(reference) for reference in _REFERENCE.finditer(run.group()))
    whole = halves.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return "".join(f"&#{ord(character)};" for character in _ILLEGAL.sub(_REPLACEMENT, whole))


def _character(reference: re.Match[str]) -> str:
    number = int(reference[1]) if reference[1] else int(reference[2], 16)
    return chr(number) if number <= _LAST_CHARACTER else _REPLACEMENT
