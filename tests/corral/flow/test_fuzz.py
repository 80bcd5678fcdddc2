"""Whatever is submitted, the parser answers with a flow or with a `FlowError`."""

import contextlib
import os

import yaml
from hypothesis import given, settings, strategies as st

from corral.flow.commands.union import SUPPORTED_COMMANDS
from corral.flow.errors import FlowError
from corral.flow.flow import Flow
from corral.flow.parser import parse_flow
from tests.corral.flow.writing import HEADER

#: `CORRAL_FUZZ_EXAMPLES` as for the API; each run looks at other ones.
FEW = settings(max_examples=20 * int(os.environ.get("CORRAL_FUZZ_EXAMPLES", "3")), deadline=None)

words = st.sampled_from(
    [
        *sorted(SUPPORTED_COMMANDS),
        "text",
        "id",
        "index",
        "point",
        "below",
        "childOf",
        "commands",
        "file",
        "times",
        "env",
        "when",
        "visible",
        "true",
        "label",
        "optional",
        "start",
        "end",
        "direction",
        "element",
        "timeout",
        "length",
        "appId",
        "key",
        "path",
    ]
)
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=20),
    words,
    st.sampled_from(["${X}", "${x + 1}", "50%,50%", "a.yaml", "(a+)+", "[", "UP", "back"]),
)
trees = st.recursive(
    values,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words | st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)
commands = st.lists(st.dictionaries(words, trees, min_size=1, max_size=1) | words | trees, min_size=1, max_size=5)


def judged(source: str, **keywords) -> None:
    with contextlib.suppress(FlowError):
        assert isinstance(parse_flow(source, **keywords), Flow)


@FEW
@given(st.text())
def test_any_text(source):
    judged(source)
    judged(HEADER + source)


@FEW
@given(st.text(alphabet="-:{}[]&*!|>'\"%@`#,? \n\tab1~<$"))
def test_any_text_of_yaml_characters(source):
    judged(source)
    judged(HEADER + source)


@FEW
@given(trees, trees)
def test_any_two_documents(header, body):
    judged(yaml.safe_dump_all([header, body]), env={"X": "1"})


@FEW
@given(commands)
def test_any_list_of_commands(body):
    judged(HEADER + yaml.safe_dump(body), files={"a.yaml": HEADER + yaml.safe_dump(body)}, env={"X": "1"})


@FEW
@given(
    st.dictionaries(st.text(max_size=10), st.text(max_size=30), max_size=3),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
)
def test_any_files_and_env(files, env):
    judged(HEADER + "- runFlow: a.yaml", files=files, env=env)
