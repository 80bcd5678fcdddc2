"""Short ways to write a flow in a test."""

import pytest

from corral.flow.commands.flow_command import FlowCommand
from corral.flow.errors import FlowError
from corral.flow.flow import Flow
from corral.flow.parser import parse_flow

HEADER = "appId: com.example.app\n---\n"


def flow(commands: str, **keywords) -> Flow:
    """The commands begin on line 3."""
    return parse_flow(HEADER + commands, **keywords)


def command(text: str, **keywords) -> FlowCommand:
    commands = flow(text, **keywords).commands
    assert len(commands) == 1
    return commands[0]


def refusal(commands: str, **keywords) -> FlowError:
    with pytest.raises(FlowError) as caught:
        flow(commands, **keywords)
    return caught.value
