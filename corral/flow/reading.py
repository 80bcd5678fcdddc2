"""Commands read level by level, each level with its file, its variables and its depth.

The number of commands that were read is counted on the way, so that files which run each other many times end at the
limit and not at the end of the memory.
"""

from dataclasses import dataclass, replace
from typing import Any

from corral.flow.commands.app import AppCommand
from corral.flow.commands.control import HoldingCommand
from corral.flow.commands.flow_command import FlowCommand, common_values, only_one_of
from corral.flow.commands.union import COMMANDS, SUPPORTED_COMMANDS
from corral.flow.env import read_env
from corral.flow.errors import FlowTooLarge, InvalidCommand, InvalidYaml, Place, UnknownCommand, UnsupportedCommand
from corral.flow.fields import Fields, fields_of
from corral.flow.files import FlowFiles
from corral.flow.header import Header, read_header, without_header
from corral.flow.limits import MAX_COMMAND_NESTING, MAX_STEPS
from corral.flow.maestro_names import UNSUPPORTED_COMMANDS
from corral.flow.steps import step_count
from corral.flow.variables import Variables
from corral.flow.yaml_tree import ListNode, MapNode, Node, ScalarNode, read_documents

_HEADER_AND_COMMANDS = 2


@dataclass(frozen=True, slots=True)
class Level:
    """Where a list of commands stands: `running` are the files that led here, `depth` the commands around it."""

    file: str
    app_id: str
    variables: Variables
    running: tuple[str, ...]
    depth: int = 0


class Reading:
    def __init__(self, files: FlowFiles) -> None:
        self._files = files
        self._trees: dict[str, list[Node]] = {}
        self._commands_read = 0

    def documents(self, file: str, source: str, variables: Variables) -> tuple[Header, ListNode]:
        """Header and commands of one file. A file that is run twice is read once."""
        if file not in self._trees:
            self._trees[file] = read_documents(source, file=file)
        documents = self._trees[file]
        if not documents:
            raise InvalidYaml("is empty", Place(file))
        if len(documents) > _HEADER_AND_COMMANDS:
            line = documents[_HEADER_AND_COMMANDS].line
            raise InvalidYaml("more than two documents; a flow is a header, `---`, and commands", Place(file, line))
        head = documents[0]
        if not isinstance(head, MapNode):
            raise without_header(file, head.line)
        header = read_header(head, file=file, variables=variables)
        body = documents[1] if len(documents) == _HEADER_AND_COMMANDS else None
        return header, _list_of_commands(body, Place(file, body.line if body else head.line))

    def commands(self, items: ListNode, level: Level) -> tuple[Any, ...]:
        commands: list[FlowCommand] = []
        steps = 0
        for item in items.items:
            command = self._command(item, level)
            commands.append(command)
            steps += step_count(command)
            if steps > MAX_STEPS:
                message = f"more than {MAX_STEPS:,} steps, counted with what is repeated"
                raise FlowTooLarge(message, Place(level.file, command.line))
        return tuple(commands)

    def _command(self, item: Node, level: Level) -> FlowCommand:
        self._commands_read += 1
        name, value, line = _name_and_value(item, level.file)
        place = Place(level.file, line, name)
        if self._commands_read > MAX_STEPS:
            raise FlowTooLarge(f"more than {MAX_STEPS:,} commands, counted with the files that are run", place)
        model = COMMANDS.get(name)
        if model is None:
            raise _unknown(name, place)
        fields = fields_of(value, model.short_form, file=level.file, command=name, variables=level.variables, line=line)
        values = common_values(fields) | model.values(fields)
        if issubclass(model, HoldingCommand):
            values |= self._content(model, fields, level)
        elif issubclass(model, AppCommand):
            values["app_id"] = values["app_id"] or level.app_id
        fields.finish()
        return model(**values)

    def _content(self, model: type[HoldingCommand], fields: Fields, level: Level) -> dict[str, Any]:
        """What stands inside: written in place, or in a file."""
        if level.depth >= MAX_COMMAND_NESTING:
            message = f"more than {MAX_COMMAND_NESTING} commands inside each other"
            raise FlowTooLarge(message, fields.place())
        inner = replace(level, depth=level.depth + 1)
        if "env" in model.content_fields:
            inner = replace(inner, variables=level.variables.with_passed(read_env(fields)))
        sources = [name for name in ("commands", "file") if name in model.content_fields]
        if only_one_of(fields, *sources) == "commands":
            fields.allow(*sources)
            items = _list_of_commands(fields.node("commands"), fields.place("commands"))
            return {"commands": self.commands(items, inner)}
        fields.allow(*sources)
        return self._content_of_file(fields, inner)

    def _content_of_file(self, fields: Fields, level: Level) -> dict[str, Any]:
        place = fields.place("file")
        file = self._files.resolve(fields.required_text("file"), place)
        if file in level.running:
            chain = " → ".join((*level.running[level.running.index(file) :], file))
            raise InvalidCommand(f"runs itself: {chain}", place)
        header, items = self.documents(file, self._files.sources[file], level.variables)
        inner = Level(file, header.app_id, header.variables, (*level.running, file), level.depth)
        return {"commands": self.commands(items, inner), "flow_file": file}


def _name_and_value(item: Node, file: str) -> tuple[str, Node, int]:
    """`- back`, or `- tapOn: …`."""
    match item:
        case ScalarNode(line, text, is_null=False):
            return text, ScalarNode(line, "", is_null=True), line
        case MapNode(line, entries, key_lines) if len(entries) == 1:
            name, value = next(iter(entries.items()))
            return name, value, key_lines[name]
        case MapNode(line, entries) if entries:
            first, second = list(entries)[:2]
            message = f"one command for each `-`; indent `{second[:60]}` further if it belongs to `{first[:60]}`"
            raise InvalidCommand(message, Place(file, line, first[:60]))
        case _:
            message = "a command is a name, or a name with fields"
            raise InvalidCommand(message, Place(file, item.line), allowed=("- back", "- tapOn: Login"))


def _unknown(name: str, place: Place) -> UnknownCommand | UnsupportedCommand:
    known = sorted(SUPPORTED_COMMANDS)
    if name in UNSUPPORTED_COMMANDS:
        message = f"`{name}` is a command of Maestro that is not supported: {UNSUPPORTED_COMMANDS[name]}"
        return UnsupportedCommand(message, place, allowed=known)
    short = name[:60]
    place = replace(place, command=None)
    return UnknownCommand(f"unknown command `{short}`", place, allowed=known, given=name)


def _list_of_commands(node: Node | None, place: Place) -> ListNode:
    if not isinstance(node, ListNode) or not node.items:
        raise InvalidCommand("needs a list of commands, at least one", place, allowed=("- back", "- tapOn: Login"))
    return node
