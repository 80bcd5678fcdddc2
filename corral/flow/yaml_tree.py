"""YAML as flows use it: scalars, lists and mappings, each with the line it stands on.

Read from the parser's events with a stack of our own, not by recursion, so that depth is a counted limit and not a
crash. Anchors, aliases and tags are refused: nobody needs them here, and they are how small texts grow large.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import yaml

from corral.flow.errors import FlowTooLarge, InvalidYaml, Place
from corral.flow.limits import MAX_SCALAR_CHARACTERS, MAX_SOURCE_CHARACTERS, MAX_YAML_DEPTH, MAX_YAML_NODES

# Its stub leaves types open.
_parse = cast("Callable[..., Iterator[yaml.Event]]", yaml.parse)  # pyright: ignore[reportUnknownMemberType]
_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A value. Its text is kept as written: the command decides whether it is a number."""

    line: int
    text: str
    is_null: bool
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class ListNode:
    line: int
    items: list["Node"] = field(default_factory=list["Node"])


@dataclass(frozen=True, slots=True)
class MapNode:
    line: int
    entries: dict[str, "Node"] = field(default_factory=dict[str, "Node"])
    key_lines: dict[str, int] = field(default_factory=dict[str, int])


Node = ScalarNode | ListNode | MapNode


def read_documents(source: str, *, file: str) -> list[Node]:
    """The documents of one file. Raises `InvalidYaml` or `FlowTooLarge`."""
    _check_characters(source, file)
    tree = _Tree(file)
    try:
        for event in _events(source):
            tree.add(event)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        problem = " ".join(part for part in (error.context, error.problem) if part)
        raise InvalidYaml(f"not valid YAML: {problem}", Place(file, line)) from error
    # An escape such as "\UFFFFFFFF" breaks the parser that is written in Python.
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise InvalidYaml(f"not valid YAML: {error}", Place(file)) from error
    return tree.documents


def _events(source: str) -> Iterator[yaml.Event]:
    yield from _parse(source, Loader=_PARSER)


def _check_characters(source: str, file: str) -> None:
    if len(source) > MAX_SOURCE_CHARACTERS:
        raise FlowTooLarge(f"{len(source):,} characters; a file may have {MAX_SOURCE_CHARACTERS:,}", Place(file))
    if "\0" in source:
        raise InvalidYaml("contains a NUL character", Place(file, source.count("\n", 0, source.index("\0")) + 1))
    try:
        source.encode()
    except UnicodeEncodeError as error:
        line = source.count("\n", 0, error.start) + 1
        raise InvalidYaml("contains half of a surrogate pair, which is no character", Place(file, line)) from error


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come; `key` is the key that waits for its value."""

    node: ListNode | MapNode
    key: str | None = None


class _Tree:
    def __init__(self, file: str) -> None:
        self.documents: list[Node] = []
        self._file = file
        self._open: list[_Open] = []
        self._nodes = 0

    def add(self, event: yaml.Event) -> None:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            raise InvalidYaml(f"an alias (`*{event.anchor}`) is not allowed; write the value out", self._place(line))
        if isinstance(event, yaml.NodeEvent):
            self._add_node(event, line)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()

    def _add_node(self, event: yaml.NodeEvent, line: int) -> None:
        self._check_plain(event, line)
        if isinstance(event, yaml.ScalarEvent):
            self._place_node(self._scalar(event, line), line)
            return
        node = MapNode(line) if isinstance(event, yaml.MappingStartEvent) else ListNode(line)
        self._place_node(node, line)
        self._open.append(_Open(node))
        if len(self._open) > MAX_YAML_DEPTH:
            raise FlowTooLarge(f"nested deeper than {MAX_YAML_DEPTH} lists and mappings", self._place(line))

    def _check_plain(self, event: yaml.NodeEvent, line: int) -> None:
        anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
        if anchor is not None:
            raise InvalidYaml(f"an anchor (`&{anchor}`) is not allowed; write the value out", self._place(line))
        if tag is not None:
            raise InvalidYaml(f"a tag (`{tag}`) is not allowed", self._place(line))
        self._nodes += 1
        if self._nodes > MAX_YAML_NODES:
            raise FlowTooLarge(f"more than {MAX_YAML_NODES:,} values", self._place(line))

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> ScalarNode:
        text = str(event.value)
        if len(text) > MAX_SCALAR_CHARACTERS:
            raise FlowTooLarge(
                f"a value of {len(text):,} characters; {MAX_SCALAR_CHARACTERS:,} are allowed", self._place(line)
            )
        if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
            raise InvalidYaml("an escape stands for NUL or for half of a surrogate pair", self._place(line))
        is_plain = event.style in (None, "")
        return ScalarNode(line, text, is_null=is_plain and text in _NULLS, is_quoted=not is_plain)

    def _place_node(self, node: Node, line: int) -> None:
        if not self._open:
            self.documents.append(node)
            return
        parent = self._open[-1]
        if isinstance(parent.node, ListNode):
            parent.node.items.append(node)
        elif parent.key is None:
            parent.key = self._new_key(parent.node, node, line)
        else:
            parent.node.entries[parent.key] = node
            parent.key = None

    def _new_key(self, parent: MapNode, node: Node, line: int) -> str:
        if not isinstance(node, ScalarNode):
            raise InvalidYaml("a key must be a plain word", self._place(line))
        if node.text in parent.key_lines:
            first = parent.key_lines[node.text]
            raise InvalidYaml(f"`{_short(node.text)}` is there twice, first on line {first}", self._place(line))
        parent.key_lines[node.text] = line
        return node.text

    def _place(self, line: int) -> Place:
        return Place(self._file, line)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."  # noqa: PLR2004  a line of an error, not a rule
