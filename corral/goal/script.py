"""The script of a planner that asks no model: the answers a model would give, written down one after another.

    - say: I look at the form.          # what the planner says
      seconds: 0.5                      # takes so long to say it
      calls: observe                    # one tool, or a list of them
    - calls:
        - tap: {target: {index: "${index:Save}", observation_id: "${observation_id}"}}
        - tap: {target: {text: Save}}
    - repeat: 10
      steps:
        - say: I wait.
          seconds: 1
    - calls:
        - finish: {status: success, message: Saved.}

Read with the YAML of flows, that is without anchors, aliases and tags, and within its limits. The tools and their
arguments are checked by the host, which knows them; here only the form is. `references` says what `${…}` means.
"""

import re
from collections.abc import Iterator
from typing import Any, NoReturn

from pydantic import BaseModel, ConfigDict

from corral.flow.errors import FlowError
from corral.flow.yaml_tree import ListNode, MapNode, Node, ScalarNode, read_documents
from corral.goal.errors import InvalidScript
from corral.goal.references import UnknownReference, check_references
from corral.goal.script_values import count_of, json_object, number_of, text_of

#: Answers of one script, counted with what is repeated: more than any budget of steps lets through.
MAX_STEPS = 5_000

#: The longest thought: an hour. What takes longer belongs into the task's own limit.
MAX_SECONDS = 3_600

_TOOL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


class ScriptPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    line: int


class Call(ScriptPart):
    """A tool with its arguments, in which `${…}` still stand."""

    tool: str
    arguments: dict[str, Any]


class Step(ScriptPart):
    """One answer: what is said, then what is called. It takes `seconds`."""

    say: str = ""
    calls: tuple[Call, ...] = ()
    seconds: float = 0.0


class Repeat(ScriptPart):
    """The same steps, `times` times."""

    times: int
    steps: tuple["Step | Repeat", ...]


class Script(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    steps: tuple[Step | Repeat, ...]

    def played(self) -> Iterator[Step]:
        """The answers in their order, with what is repeated written out."""
        yield from _played(self.steps)


def parse_script(text: str) -> Script:
    """The script in `text`. Pure. Raises `InvalidScript`, which names the line."""
    try:
        documents = read_documents(text, file="script")
    except FlowError as error:
        raise InvalidScript(error.message, line=error.line) from error
    if len(documents) != 1:
        raise InvalidScript("a script is one document: a list of steps")
    reading = _Reading()
    return Script(steps=reading.steps(documents[0], times=1))


def _played(steps: tuple[Step | Repeat, ...]) -> Iterator[Step]:
    for step in steps:
        if isinstance(step, Step):
            yield step
            continue
        for _ in range(step.times):
            yield from _played(step.steps)


class _Reading:
    def __init__(self) -> None:
        self._read = 0
        self._played = 0

    def steps(self, node: Node, *, times: int) -> tuple[Step | Repeat, ...]:
        """`times`: how often these steps are played in all."""
        if not isinstance(node, ListNode) or not node.items:
            raise InvalidScript("needs a list of steps, at least one, each with `say` or `calls`", line=node.line)
        return tuple(self._step(item, times) for item in node.items)

    def _step(self, node: Node, times: int) -> Step | Repeat:
        if isinstance(node, MapNode) and "repeat" in node.entries:
            return self._repeat(node, times)
        self._read += 1
        self._played += times
        if self._played > MAX_STEPS:
            self._refuse(f"more than {MAX_STEPS:,} steps, counted with what is repeated", node)
        entries = self._entries(node, ("say", "calls", "seconds"))
        say, calls, seconds = entries.get("say"), entries.get("calls"), entries.get("seconds")
        if say is None and calls is None:
            self._refuse("a step needs `say` or `calls`", node)
        return Step(
            line=node.line,
            say=text_of(say, "say", step=self._read) if say else "",
            calls=self._calls(calls) if calls else (),
            seconds=number_of(seconds, "seconds", at_most=MAX_SECONDS, step=self._read) if seconds else 0.0,
        )

    def _repeat(self, node: MapNode, times: int) -> Repeat:
        entries = self._entries(node, ("repeat", "steps"))
        count = count_of(entries["repeat"], "repeat", at_most=MAX_STEPS, step=self._read + 1)
        if "steps" not in entries:
            self._refuse("`repeat` needs `steps`", node, step=self._read + 1)
        return Repeat(line=node.line, times=count, steps=self.steps(entries["steps"], times=times * count))

    def _calls(self, node: Node) -> tuple[Call, ...]:
        if isinstance(node, ListNode) and not node.items:
            self._refuse("`calls` is empty; leave it out", node)
        return tuple(self._call(item) for item in (node.items if isinstance(node, ListNode) else [node]))

    def _call(self, node: Node) -> Call:
        """`observe`, or `tap: {target: {text: Save}}`."""
        match node:
            case ScalarNode(text=tool, is_null=False):
                arguments = {}
            case MapNode(entries=entries) if len(entries) == 1:
                tool, value = next(iter(entries.items()))
                arguments = self._arguments(tool, value)
            case _:
                self._refuse("a call is one tool, or one tool with its arguments: `tap: {target: {text: Save}}`", node)
        if not _TOOL.fullmatch(tool):
            self._refuse(f"`{tool[:60]}` is no name of a tool", node)
        try:
            check_references(arguments)
        except UnknownReference as error:
            self._refuse(f"`{tool}`: {error}", node)
        return Call(line=node.line, tool=tool, arguments=arguments)

    def _arguments(self, tool: str, value: Node) -> dict[str, Any]:
        if isinstance(value, ScalarNode) and value.is_null:
            return {}
        if not isinstance(value, MapNode):
            self._refuse(f"the arguments of `{tool[:60]}` are a mapping of names to values", value)
        return json_object(value)

    def _entries(self, node: Node, allowed: tuple[str, ...]) -> dict[str, Node]:
        names = ", ".join(f"`{name}`" for name in allowed)
        if not isinstance(node, MapNode):
            self._refuse(f"a step is a mapping with {names}", node)
        for name in node.entries:
            if name not in allowed:
                message = f"unknown field `{name[:60]}`; allowed here: {names}"
                raise InvalidScript(message, line=node.key_lines[name], step=max(self._read, 1))
        return node.entries

    def _refuse(self, message: str, node: Node, *, step: int | None = None) -> NoReturn:
        raise InvalidScript(message, line=node.line, step=step or self._read)
