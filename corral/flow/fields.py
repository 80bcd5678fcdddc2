"""Reading the fields of one mapping: each getter says what it wants, `finish` refuses what nobody asked for."""

from collections.abc import Mapping
from typing import TypeVar

from corral.flow.errors import InvalidCommand, Place
from corral.flow.patterns import InvalidPattern, TextPattern
from corral.flow.variables import Variables
from corral.flow.yaml_tree import ListNode, MapNode, Node, ScalarNode

T = TypeVar("T")

_FLAGS = {"true": True, "false": False}


class Fields:
    """The fields of a command or of a selector, with `${NAME}` filled in as they are read."""

    def __init__(
        self, node: MapNode, *, file: str, command: str | None, variables: Variables, line: int | None = None
    ) -> None:
        """`line` is where the command's name stands, if that is not where its fields begin."""
        self.line = node.line if line is None else line
        self.file = file
        self.command = command
        self.variables = variables
        self._node = node
        self._asked: dict[str, None] = {}

    def place(self, name: str | None = None) -> Place:
        line = self._node.key_lines.get(name, self.line) if name else self.line
        return Place(self.file, line, self.command)

    def node(self, name: str) -> Node | None:
        """The node of a field, or None if it is absent."""
        self._asked[name] = None
        return self._node.entries.get(name)

    def has(self, name: str) -> bool:
        return name in self._node.entries

    def text(self, name: str) -> str | None:
        """The text of a field, or None if it is absent. A field without a value is an error."""
        node = self.node(name)
        if node is None:
            return None
        if not isinstance(node, ScalarNode) or node.is_null:
            kind = "nothing" if isinstance(node, ScalarNode) else _kind(node)
            hint = ' (write "" for an empty text)' if isinstance(node, ScalarNode) else ""
            raise InvalidCommand(f"`{name}` must be a text, not {kind}{hint}", self.place(name))
        return self.variables.fill(node.text, self.place(name))

    def required_text(self, name: str) -> str:
        text = self.text(name)
        if text is None:
            raise self.missing(name)
        return text

    def whole_number(self, name: str, *, default: int, at_least: int = 0, at_most: int) -> int:
        text = self.text(name)
        if text is None:
            return default
        number = _whole(text)
        if number is None or not at_least <= number <= at_most:
            raise InvalidCommand(
                f"`{name}` is `{text[:60]}`",
                self.place(name),
                allowed=(f"a whole number from {at_least} to {at_most}",),
            )
        return number

    def flag(self, name: str) -> bool | None:
        text = self.text(name)
        if text is None:
            return None
        if text.lower() not in _FLAGS:
            raise InvalidCommand(f"`{name}` is `{text[:60]}`", self.place(name), allowed=("true", "false"))
        return _FLAGS[text.lower()]

    def choice(self, name: str, choices: Mapping[str, T]) -> T | None:
        """One of `choices`, whose names are in lower case; the case of what was written does not matter."""
        text = self.text(name)
        if text is None:
            return None
        if text.lower() not in choices:
            raise InvalidCommand(f"`{name}` is `{text[:60]}`", self.place(name), allowed=sorted(choices), given=text)
        return choices[text.lower()]

    def pattern(self, name: str) -> TextPattern | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            return TextPattern.checked(text)
        except InvalidPattern as error:
            raise InvalidCommand(f"`{name}` {error}", self.place(name)) from error

    def nested(self, name: str, *, short_form: str | None = None) -> "Fields | None":
        """The fields of a mapping inside this one; a plain text stands for the field `short_form` of it, if any."""
        node = self.node(name)
        if node is None:
            return None
        return fields_of(
            node, short_form, file=self.file, command=self.command, variables=self.variables, subject=f"`{name}` "
        )

    def refuse(self, names: Mapping[str, str]) -> None:
        """Refuses fields that Maestro has and that are not built, each with its reason."""
        for name, reason in names.items():
            if self.has(name):
                raise InvalidCommand(f"`{name}` is not supported: {reason}", self.place(name))

    def allow(self, *names: str) -> None:
        """Names that are read elsewhere."""
        self._asked.update(dict.fromkeys(names))

    def missing(self, name: str) -> InvalidCommand:
        return InvalidCommand(f"needs `{name}`", self.place(), allowed=sorted(self._asked))

    def finish(self) -> None:
        """Refuses every field that was not asked for."""
        for name in self._node.entries:
            if name not in self._asked:
                raise InvalidCommand(
                    f"unknown field `{name[:60]}`", self.place(name), allowed=sorted(self._asked), given=name
                )


def fields_of(
    node: Node,
    short_form: str | None,
    *,
    file: str,
    command: str | None,
    variables: Variables,
    line: int | None = None,
    subject: str = "",
) -> Fields:
    """What stands behind a command or a field, as fields. A plain text is the value of the field `short_form`.

    `line` as in `Fields`; an error begins with `subject`.
    """
    if isinstance(node, ScalarNode) and node.is_null:
        node = MapNode(node.line)
    elif isinstance(node, ScalarNode) and short_form is not None:
        node = MapNode(node.line, {short_form: node}, {short_form: node.line})
    if isinstance(node, MapNode):
        return Fields(node, file=file, command=command, variables=variables, line=line)
    message = f"{subject}takes fields (`name: value`), not {_kind(node)}"
    raise InvalidCommand(message, Place(file, node.line, command))


def _kind(node: Node) -> str:
    match node:
        case ScalarNode():
            return "a plain text"
        case ListNode():
            return "a list"
        case MapNode():
            return "fields"


def _whole(text: str) -> int | None:
    digits = text.strip().replace("_", "")
    is_number = digits.removeprefix("-").isdecimal() and digits.isascii() and len(digits) <= 12  # noqa: PLR2004  above every limit
    return int(digits) if is_number else None
