"""Typing into what has the focus."""

from typing import Any, ClassVar, Literal

from corral.flow.commands.flow_command import FlowCommand
from corral.flow.fields import Fields

_MAX_CHARACTERS = 1_000
_DEFAULT_LENGTH = 8
#: Maestro erases this many if it is not told how many.
_DEFAULT_ERASE = 50


class InputText(FlowCommand):
    command: Literal["inputText"] = "inputText"
    short_form: ClassVar[str | None] = "text"
    text: str

    @classmethod
    def values(cls, fields: Fields) -> dict[str, Any]:
        return {"text": fields.required_text("text")}


class EraseText(FlowCommand):
    command: Literal["eraseText"] = "eraseText"
    short_form: ClassVar[str | None] = "charactersToErase"
    characters: int = _DEFAULT_ERASE

    @classmethod
    def values(cls, fields: Fields) -> dict[str, Any]:
        name = "charactersToErase"
        number = fields.whole_number(name, default=_DEFAULT_ERASE, at_least=1, at_most=_MAX_CHARACTERS)
        return {"characters": number}

    @property
    def subject(self) -> str:
        return str(self.characters)


class InputRandomEmail(FlowCommand):
    command: Literal["inputRandomEmail"] = "inputRandomEmail"


class InputRandomPersonName(FlowCommand):
    command: Literal["inputRandomPersonName"] = "inputRandomPersonName"


class RandomCharacters(FlowCommand):
    short_form: ClassVar[str | None] = "length"
    length: int = _DEFAULT_LENGTH

    @classmethod
    def values(cls, fields: Fields) -> dict[str, Any]:
        return {"length": fields.whole_number("length", default=_DEFAULT_LENGTH, at_least=1, at_most=_MAX_CHARACTERS)}


class InputRandomNumber(RandomCharacters):
    """Digits."""

    command: Literal["inputRandomNumber"] = "inputRandomNumber"


class InputRandomText(RandomCharacters):
    """Small letters and digits."""

    command: Literal["inputRandomText"] = "inputRandomText"
