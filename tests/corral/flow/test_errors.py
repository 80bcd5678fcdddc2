import pytest

from corral.flow.commands.union import SUPPORTED_COMMANDS
from corral.flow.errors import InvalidCommand, InvalidHeader, UnknownCommand, UnsupportedCommand, UnsupportedExpression
from corral.flow.maestro_names import UNSUPPORTED_COMMANDS, UNSUPPORTED_HEADER_KEYS
from corral.flow.parser import parse_flow
from tests.corral.flow.writing import refusal


def test_an_unknown_command_is_refused_with_its_place_and_the_nearest_one():
    error = refusal("- back\n- tabOn: Login\n", name="a/login.yaml")
    assert isinstance(error, UnknownCommand)
    assert (error.file, error.line, error.suggestion) == ("a/login.yaml", 4, "tapOn")
    assert set(error.allowed) == SUPPORTED_COMMANDS
    assert str(error).startswith(
        "a/login.yaml:4: unknown command `tabOn`. Did you mean `tapOn`? (allowed: assertNotVisible,"
    )


@pytest.mark.parametrize("name", sorted(UNSUPPORTED_COMMANDS))
def test_a_command_of_maestro_that_is_not_built_is_refused_by_name(name):
    for text in (f"- {name}", f"- {name}: something", f"- {name}: {{a: 1}}"):
        error = refusal(text)
        assert isinstance(error, UnsupportedCommand)
        assert (error.command, error.line) == (name, 3)
        assert f"`{name}`" in error.message


def test_no_command_is_both_supported_and_not():
    assert not SUPPORTED_COMMANDS & set(UNSUPPORTED_COMMANDS)


@pytest.mark.parametrize(
    "text",
    [
        "- inputText: ${a + b}",
        "- tapOn: ${output.x}",
        "- runFlow: {when: {true: '${x}'}, commands: [back]}",
        "- repeat: {while: {visible: A}, commands: [back]}",
        "- inputText: ${ false }",
        "- inputText: ${X || 'default'}",
        "- inputText: ${}",
    ],
)
def test_an_expression_is_refused_by_name(text):
    error = refusal(text, env={"X": "1", "a": "1", "b": "2"})
    assert isinstance(error, UnsupportedExpression)
    assert error.line == 3


@pytest.mark.parametrize(
    "text",
    [
        "- 3",
        "- [back]",
        "- {}",
        "- ~",
        "- back\n- ",
        "back",
        "- tapOn:",
        "- tapOn: []",
        "- tapOn: ''\n  label: a",
        "- inputText",
        "- inputText:",
        "- assertVisible: {}",
        "- back: {x: 1}",
        "- back: hello",
        "- runFlow: {when: A, commands: [back]}",
    ],
)
def test_what_is_no_command_is_refused(text):
    assert isinstance(refusal(text), InvalidCommand | UnknownCommand)


def test_two_commands_under_one_dash_are_explained():
    error = refusal("- tapOn: Login\n  label: The login button\n")
    assert "indent `label` further if it belongs to `tapOn`" in error.message


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("repeat: many", "repeat"),
        ("repeat: 0", "repeat"),
        ("repeat: 1.5", "repeat"),
        ("delay: -1", "delay"),
        ("optional: maybe", "optional"),
        ("label: [a]", "label"),
        ("index: first", "index"),
        ("enabled: 1", "enabled"),
        ("below: []", "below"),
        ("label: ~", "label"),
    ],
)
def test_a_value_that_cannot_be_is_refused_at_its_line(text, wrong):
    error = refusal(f"- tapOn:\n    text: a\n    {text}\n")
    assert isinstance(error, InvalidCommand)
    assert (error.command, error.line) == ("tapOn", 5)
    assert f"`{wrong}`" in error.message


@pytest.mark.parametrize("pattern", ["Price (USD", "*", "[a", "(?P<x>a)(?P<x>b)", "(?<=a*)b"])
def test_a_text_that_is_no_regular_expression_is_refused(pattern):
    assert "is not a regular expression" in refusal(f"- assertVisible: '{pattern}'").message


@pytest.mark.parametrize(
    "source",
    [
        "- back",
        "[back]",
        "hello",
        "---\n- back",
        "appId: com.example.app",
        "appId: com.example.app\n---\n",
        "appId: com.example.app\n---\nhello: 1",
        "name: x\n---\n- back",
        "appId:\n---\n- back",
        "appId: not a package\n---\n- back",
        "appId: [a]\n---\n- back",
        "appId: a.b\ntags: x\n---\n- back",
        "appId: a.b\ntags: [[x]]\n---\n- back",
        "appId: a.b\nenv: [x]\n---\n- back",
        "appId: a.b\nenv: {X: }\n---\n- back",
        "appId: a.b\nenv: {1x: a}\n---\n- back",
        "appId: 'a.b; rm -rf /'\n---\n- back",
    ],
)
def test_a_flow_without_a_proper_header_or_commands_is_refused(source):
    with pytest.raises((InvalidHeader, InvalidCommand)) as caught:
        parse_flow(source)
    assert caught.value.file == "flow.yaml"


@pytest.mark.parametrize("key", sorted(UNSUPPORTED_HEADER_KEYS))
def test_a_header_key_of_maestro_that_is_not_built_is_refused_by_name(key):
    with pytest.raises(InvalidHeader, match=f"`{key}` is not supported"):
        parse_flow(f"appId: a.b\n{key}: x\n---\n- back")


def test_a_typo_in_the_header_is_refused_with_the_nearest_key():
    with pytest.raises(InvalidHeader) as caught:
        parse_flow("appId: a.b\ntag: [x]\n---\n- back")
    assert (caught.value.line, caught.value.allowed) == (2, ("appId", "env", "name", "tags"))


def test_the_header_gives_name_and_tags():
    flow = parse_flow("appId: a.b\nname: Log in\ntags: [smoke, android]\n---\n- back")
    assert (flow.name, flow.tags) == ("Log in", ("smoke", "android"))
    assert parse_flow("appId: a.b\n---\n- back", name="x/login.yaml").name == "x/login.yaml"
