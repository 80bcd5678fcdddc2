import pytest

from corral.flow import yaml_tree
from corral.flow.errors import FlowTooLarge, InvalidYaml
from corral.flow.limits import MAX_SCALAR_CHARACTERS, MAX_SOURCE_CHARACTERS, MAX_YAML_DEPTH, MAX_YAML_NODES
from corral.flow.parser import parse_flow
from tests.corral.flow.writing import HEADER, command, refusal


@pytest.fixture(params=["libyaml", "python"])
def either_parser(request, monkeypatch):
    if request.param == "python":
        monkeypatch.setattr(yaml_tree, "_PARSER", yaml_tree.yaml.SafeLoader)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("- inputText: &a x\n- inputText: *a", 3),
        ("- back\n- inputText: *a", 4),
        ("- inputText: !!str x", 3),
        ("- inputText: !x y", 3),
        ("- tapOn: !!python/object:os.system {}", 3),
        ("- tapOn: {id: a,\n    id: b}", 4),
        ("- tapOn: 'open", 3),
        ("- tapOn: {a", 3),
        ("- tapOn: a\n  b", 4),
        ("\t- back", 3),
        ("- ? [a]\n  : b", 3),
        ('- inputText: "\\0"', 3),
        ('- inputText: "\\ud800"', 3),
        ("- back\n---\n- back", 5),
        ("- inputText: a\0b", 3),
        ('- inputText: "\\UFFFFFFFF"', 3),
        ("- inputText: a\ud800b", 3),
        ("- a: b: c", 3),
    ],
)
@pytest.mark.usefixtures("either_parser")
def test_yaml_that_is_wrong_or_goes_beyond_what_flows_need_is_refused_at_its_line(text, line):
    error = refusal(text)
    assert isinstance(error, InvalidYaml), error
    assert error.file == "flow.yaml"
    assert error.line is None or line <= error.line <= line + 2


@pytest.mark.parametrize("source", ["", "   ", "# only a comment\n", "\x07", "appId: \x01\n"])
def test_an_empty_or_unprintable_file_is_refused(source):
    with pytest.raises(InvalidYaml):
        parse_flow(source)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
@pytest.mark.parametrize("times", [MAX_YAML_DEPTH + 1, 100_000])
@pytest.mark.usefixtures("either_parser")
def test_deep_nesting_is_an_error_and_no_crash(opening, times):
    with pytest.raises((FlowTooLarge, InvalidYaml)):
        parse_flow(HEADER + opening * times)


def test_a_file_beyond_its_limit_is_refused():
    with pytest.raises(FlowTooLarge, match="characters"):
        parse_flow("#" * (MAX_SOURCE_CHARACTERS + 1))


def test_a_value_beyond_its_limit_is_refused_and_one_at_it_is_not():
    assert len(command(f"- inputText: {'x' * MAX_SCALAR_CHARACTERS}").text) == MAX_SCALAR_CHARACTERS
    assert isinstance(refusal(f"- inputText: {'x' * (MAX_SCALAR_CHARACTERS + 1)}"), FlowTooLarge)


def test_very_many_values_are_refused():
    assert isinstance(refusal(f"- x: [{'a,' * MAX_YAML_NODES}]"), FlowTooLarge)


def test_text_may_be_written_in_every_way_of_yaml():
    assert command('- inputText: "tab\\tquote\\" é"').text == 'tab\tquote" é'
    assert command("- inputText: |\n    two\n    lines").text == "two\nlines"
    assert command("- inputText: >-\n    one\n    line").text == "one line"
    assert command("- inputText: '~'").text == "~"


def test_a_windows_file_with_a_byte_order_mark_is_read():
    assert parse_flow("\ufeffappId: a.b\r\n---\r\n- back\r\n- tapOn:\r\n    id: x\r\n").commands[1].line == 4
