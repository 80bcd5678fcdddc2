import re
from pathlib import Path

import pytest

from corral.flow.commands.keys import KEY_CODES
from corral.flow.commands.union import SUPPORTED_COMMANDS
from corral.flow.limits import MAX_COMMAND_NESTING, MAX_PATTERN_CHARACTERS, MAX_STEPS
from corral.flow.parser import parse_flow
from corral.flow.selector import ELEMENT_FIELDS
from tests.corral.flow.test_commands import EXAMPLES
from tests.corral.flow.writing import refusal

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "flows.md").read_text()
SECTIONS = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL))


def test_the_page_has_a_section_for_each_command_and_for_no_other():
    assert set(SECTIONS) == SUPPORTED_COMMANDS


@pytest.mark.parametrize("name", sorted(SUPPORTED_COMMANDS))
def test_a_section_names_every_field_of_its_command(name):
    example = EXAMPLES[name]
    fields = example.partition(":")[2].strip()
    if not fields.startswith("{"):
        short_form = parse_flow(f"appId: a.b\n---\n{example}").commands[0].short_form
        example = f"- {name}: {{{short_form}: {fields}}}" if fields else f"- {name}: {{}}"
    allowed = set(refusal(example.replace("{", "{unknown: 1, ", 1)).allowed)
    own = allowed - {"label", "optional", *ELEMENT_FIELDS}
    assert not {field for field in own if f"`{field}`" not in SECTIONS[name]}


def test_the_page_names_the_keys_the_fields_of_elements_and_the_limits():
    for field in ELEMENT_FIELDS:
        assert f"`{field}`" in PAGE
    for key in KEY_CODES:
        assert key.split()[-1] in SECTIONS["pressKey"].lower()
    for limit in (f"{MAX_STEPS:,}", str(MAX_COMMAND_NESTING), str(MAX_PATTERN_CHARACTERS)):
        assert limit in PAGE


def test_the_example_of_the_page_is_a_flow():
    source = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1]
    assert parse_flow(source).steps_total == 7
