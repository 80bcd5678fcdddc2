import pytest

from corral.flow.limits import MAX_SOURCE_CHARACTERS
from corral.goal.references import ElementIndex, ObservationId, filled
from corral.goal.script import MAX_STEPS, InvalidScript, Repeat, Step, parse_script

FORM = """
- say: I look.
  seconds: 0.5
  calls: observe
- calls:
    - observe
    - input_text: {element: "${index:Name}", text: "007", clear: true, times: 3, ratio: 0.5, at: null}
    - tap:
        element: ${index:Save all}
- repeat: 3
  steps:
    - say: I wait.
    - repeat: 2
      steps:
        - calls: [{wait: {seconds: 1}}]
"""


def test_a_script_is_a_list_of_what_is_said_and_called():
    script = parse_script(FORM)
    look, fill, again = script.steps
    assert isinstance(look, Step)
    assert (look.say, look.seconds, [call.tool for call in look.calls]) == ("I look.", 0.5, ["observe"])
    assert isinstance(fill, Step)
    assert [call.line for call in fill.calls] == [6, 7, 8]
    assert isinstance(again, Repeat)


def test_only_what_has_no_quotes_is_a_number_true_or_null():
    fill = list(parse_script(FORM).played())[1]
    assert fill.calls[1].arguments == {
        "element": "${index:Name}",
        "text": "007",
        "clear": True,
        "times": 3,
        "ratio": 0.5,
        "at": None,
    }


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("-4", -4),
        ("0", 0),
        ("007", "007"),
        ("1.", "1."),
        ("1e999", "1e999"),
        ("1e3", 1000.0),
        ("9" * 40, "9" * 40),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ("yes", "yes"),
        (".inf", ".inf"),
        ("2026-01-01", "2026-01-01"),
        ("'5'", "5"),
        ("~", None),
    ],
)
def test_a_plain_word_is_what_json_would_say(written, value):
    [step] = parse_script(f"- calls: [{{note: {{text: {written}}}}}]").played()
    assert step.calls[0].arguments == {"text": value}
    assert type(step.calls[0].arguments["text"]) is type(value)


def test_repeated_steps_are_played_as_often_as_written():
    played = list(parse_script(FORM).played())
    assert [step.say or step.calls[0].tool for step in played[2:]] == ["I wait.", "wait", "wait"] * 3


def test_references_are_filled_in_when_they_are_known():
    known = {ElementIndex("Save"): 12, ObservationId(): "o-3"}
    value = {"element": "${index:Save}", "in": ["${ observation_id }/${index: Save}", r"\${index:Save}", 5]}
    assert filled(value, known.__getitem__) == {"element": 12, "in": ["o-3/12", "${index:Save}", 5]}


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", None, "one document"),
        ("a: b", 1, "list of steps"),
        ("[]", 1, "list of steps"),
        ("- say: a\n---\n- say: b", None, "one document"),
        ("- say: a\n- hello", 2, "a step is a mapping"),
        ("- say: a\n- seconds: 2", 2, "needs `say` or `calls`"),
        ("- say: a\n  tools: b", 2, "unknown field `tools`"),
        ("- say: [a]", 1, "`say` is a text"),
        ("- say: a\n  seconds: -1", 2, "from 0 to 3600"),
        ("- say: a\n  seconds: 'two'", 2, "from 0 to 3600"),
        ("- say: a\n  seconds: true", 2, "from 0 to 3600"),
        ("- calls: []", 1, "is empty"),
        ("- calls:", 1, "a call is one tool"),
        ("- calls: [{a: {}, b: {}}]", 1, "a call is one tool"),
        ("- calls: ['two words']", 1, "no name of a tool"),
        ("- calls:\n  - tap: 5", 2, "mapping of names"),
        ("- calls:\n  - tap: {at: '${point:Save}'}", 2, "`${point:Save}` is unknown"),
        ("- repeat: 0\n  steps: [{say: a}]", 1, "from 1 to"),
        ("- repeat: 2", 1, "needs `steps`"),
        ("- repeat: 2\n  steps: []", 2, "list of steps"),
        ("- repeat: 2\n  say: a", 2, "unknown field `say`"),
        ("- &x say: a", 1, "anchor"),
        ("- say: a\n- *x", 2, "alias"),
        ("- !!python/object:os.system {say: a}", 1, "tag"),
        ("- say: a\n- say: [}", 2, "not valid YAML"),
        ("- say: a\n  say: b", 2, "twice"),
        ("[" * 90, 1, "nested deeper"),
        ("- say: a\0", 1, "NUL"),
        ("#" * (MAX_SOURCE_CHARACTERS + 1), None, "characters"),
        (f"- repeat: {MAX_STEPS}\n  steps:\n  - say: a\n  - say: b", 4, "more than 5,000 steps"),
        ("- repeat: 5000\n  steps:\n  - repeat: 5000\n    steps:\n    - say: a", 5, "more than 5,000 steps"),
    ],
)
def test_what_cannot_be_played_is_refused_with_its_line(text, line, said):
    with pytest.raises(InvalidScript) as refused:
        parse_script(text)
    assert said in str(refused.value)
    assert refused.value.line == line


def test_a_mistake_names_its_step():
    with pytest.raises(InvalidScript, match=r"^line 2, step 2: a step needs"):
        parse_script("- say: a\n- seconds: 2")
