"""People who write scripts have no schema to read: the reference names each tool with all of its arguments."""

import re
from pathlib import Path

import pytest

from tests.workers.agent.tools.calls import Toolbox
from tests.workers.run.far_side import FarDevice
from workers.agent.subagents.remote import AskAgent
from workers.agent.subagents.spawn import SpawnAgent
from workers.run.flow_tool import RunFlowTool

REFERENCE = Path(__file__).parents[4] / "docs" / "reference" / "goals.md"
ROWS = [line.split("|")[1:3] for line in REFERENCE.read_text().splitlines() if line.startswith("| `")]
TOOLS = [*Toolbox(FarDevice(), takes_images=True).tools.values(), RunFlowTool, SpawnAgent, AskAgent]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_stands_in_the_reference_with_all_of_its_arguments(tool):
    [arguments] = [row[1] for row in ROWS if f"`{tool.name}`" in row[0]]
    schema = tool.arguments.model_json_schema()
    required = set(schema.get("required", ()))
    named = dict(re.findall(r"`\[?(\w+)=?([^\]`]*)\]?`", arguments))
    assert set(named) == set(schema.get("properties", {}))
    for name, default in named.items():
        known = schema["properties"][name].get("default")
        assert default in ("", str(known).lower() if isinstance(known, bool) else str(known))
        assert name in required or f"`[{name}" in arguments or tool.name in ("swipe", "input_text")
