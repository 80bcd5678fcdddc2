"""How steps are counted: by multiplying, never by writing the flow out.

Each command is one step. `runFlow` is one and what it holds, whether its condition will hold or not; `repeat` is one
and what it holds times `times`; `retry` is one and what it holds once, for a repeated attempt goes over the same steps.
"""

from collections.abc import Iterable, Iterator

from corral.flow.commands.control import HoldingCommand, Repeat
from corral.flow.commands.flow_command import FlowCommand


def step_count(command: FlowCommand) -> int:
    if not isinstance(command, HoldingCommand):
        return 1
    times = command.times if isinstance(command, Repeat) else 1
    return 1 + times * steps_of(command.commands)


def steps_of(commands: Iterable[FlowCommand]) -> int:
    return sum(step_count(command) for command in commands)


def walk(commands: Iterable[FlowCommand]) -> Iterator[FlowCommand]:
    """Each command once, in the order of the text."""
    for command in commands:
        yield command
        if isinstance(command, HoldingCommand):
            yield from walk(command.commands)
