"""The `env` of a header, of a runFlow, or of a submit."""

from collections.abc import Mapping

from corral.flow.errors import InvalidCommand, Place
from corral.flow.fields import Fields
from corral.flow.limits import MAX_SCALAR_CHARACTERS, MAX_VARIABLES
from corral.flow.variables import is_variable_name
from corral.flow.yaml_tree import MapNode

_NAMES = ("a name of letters, digits and `_` that does not begin with a digit",)


def read_env(fields: Fields, *, takes_earlier_names: bool = False) -> dict[str, str]:
    """The field `env`. With `takes_earlier_names` a value may use the names above it."""
    node = fields.node("env")
    if node is None:
        return {}
    if not isinstance(node, MapNode):
        raise InvalidCommand("`env` takes `NAME: value`", fields.place("env"))
    values: dict[str, str] = {}
    for name in node.entries:
        variables = fields.variables.with_defaults(values) if takes_earlier_names else fields.variables
        entry = Fields(node, file=fields.file, command=fields.command, variables=variables)
        check_name(name, entry.place(name), count=len(values) + 1)
        values[name] = entry.required_text(name)
    return values


def check_env(env: Mapping[str, str], *, file: str) -> None:
    """Refuses what was passed in with a submit and cannot be a variable."""
    for count, (name, value) in enumerate(env.items(), start=1):
        check_name(name, Place(file), count=count)
        if "\0" in value or len(value) > MAX_SCALAR_CHARACTERS:
            message = f"the value of `{name}` in `env` has NUL in it or more than {MAX_SCALAR_CHARACTERS:,} characters"
            raise InvalidCommand(message, Place(file))


def check_name(name: str, place: Place, *, count: int) -> None:
    if not is_variable_name(name):
        raise InvalidCommand(f"`{name[:60]}` in `env` cannot be the name of a variable", place, allowed=_NAMES)
    if count > MAX_VARIABLES:
        raise InvalidCommand(f"`env` has more than {MAX_VARIABLES} names", place)
