"""What a client sends as a prompt, as text."""

from collections.abc import Sequence
from typing import Any

from acp import RequestError
from acp.schema import ResourceContentBlock, TextContentBlock

#: Several hundred pages: no model takes more, and no goal needs it.
MAX_PROMPT_CHARACTERS = 500_000

_INVALID_PARAMS = -32602


def invalid_params(message: str) -> RequestError:
    """The error for a request that cannot be meant so; the message says what is wrong with it."""
    return RequestError(_INVALID_PARAMS, message)


def text_of(blocks: Sequence[Any]) -> str:
    """The text of a prompt; of a linked resource, its name and address.

    Raises:
        RequestError: it is empty or too long, or has what was not said to be taken: pictures, sound, whole files.
    """
    text = "\n".join(_text_of_block(block) for block in blocks).strip()
    if not text:
        raise invalid_params("the prompt is empty: say what is to be done")
    if len(text) > MAX_PROMPT_CHARACTERS:
        raise invalid_params(f"the prompt has {len(text)} characters; {MAX_PROMPT_CHARACTERS} are possible")
    return text


def _text_of_block(block: Any) -> str:
    match block:
        case TextContentBlock():
            return block.text
        case ResourceContentBlock():
            return f"{block.name}: {block.uri}"
        case _:
            raise invalid_params(f"a block of type {block.type} is not taken; send text, or a link to the resource")
