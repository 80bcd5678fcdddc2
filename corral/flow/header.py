"""The document before `---`: which app, and the defaults of variables."""

from dataclasses import dataclass

from corral.flow.commands.app import read_package
from corral.flow.env import read_env
from corral.flow.errors import FlowError, InvalidCommand, InvalidHeader, Place
from corral.flow.fields import Fields
from corral.flow.maestro_names import UNSUPPORTED_HEADER_KEYS
from corral.flow.variables import Variables
from corral.flow.yaml_tree import ListNode, MapNode, Node, ScalarNode

_MAX_NAME_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Header:
    app_id: str
    name: str | None
    tags: tuple[str, ...]
    variables: Variables


def read_header(node: MapNode, *, file: str, variables: Variables) -> Header:
    """The header, and `variables` with its `env` as defaults. Raises `InvalidHeader` or another `FlowError`."""
    try:
        return _read(node, file, variables)
    except InvalidCommand as error:
        raise InvalidHeader(f"header: {error.message}", Place(file, error.line), allowed=error.allowed) from error


def _read(node: MapNode, file: str, variables: Variables) -> Header:
    outer = Fields(node, file=file, command=None, variables=variables)
    variables = variables.with_defaults(read_env(outer, takes_earlier_names=True))
    fields = Fields(node, file=file, command=None, variables=variables)
    fields.allow("env")
    for name, reason in UNSUPPORTED_HEADER_KEYS.items():
        if fields.has(name):
            raise InvalidHeader(f"header: `{name}` is not supported: {reason}", fields.place(name))
    app_id, name = read_package(fields, "appId"), fields.text("name")
    tags = _read_tags(fields)
    fields.finish()
    if app_id is None:
        raise fields.missing("appId")
    if name is not None and len(name) > _MAX_NAME_CHARACTERS:
        raise InvalidHeader(f"header: `name` is longer than {_MAX_NAME_CHARACTERS} characters", fields.place("name"))
    return Header(app_id, name, tags, variables)


def _read_tags(fields: Fields) -> tuple[str, ...]:
    node = fields.node("tags")
    items: list[Node] = node.items if isinstance(node, ListNode) else []
    texts = [item.text for item in items if isinstance(item, ScalarNode) and not item.is_null]
    if node is not None and (not isinstance(node, ListNode) or len(texts) != len(items)):
        raise InvalidHeader("header: `tags` must be a list of words", fields.place("tags"))
    return tuple(fields.variables.fill(text, fields.place("tags")) for text in texts)


def without_header(file: str, line: int | None = None) -> FlowError:
    message = "begins without a header; write `appId: …`, then `---`, then the list of commands"
    return InvalidHeader(message, Place(file, line), allowed=("appId", "name", "tags", "env"))
