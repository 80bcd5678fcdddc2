import pytest

from corral.flow.commands.swipes import Direction
from corral.flow.commands.union import SUPPORTED_COMMANDS
from corral.flow.steps import walk
from tests.corral.flow.writing import command, flow, refusal

#: One way to write each command.
EXAMPLES = {
    "launchApp": "- launchApp",
    "stopApp": "- stopApp",
    "killApp": "- killApp: com.other.app",
    "tapOn": "- tapOn: Login",
    "doubleTapOn": "- doubleTapOn: {id: logo}",
    "longPressOn": "- longPressOn: {point: '50%,50%'}",
    "swipe": "- swipe: {direction: LEFT}",
    "scroll": "- scroll",
    "scrollUntilVisible": "- scrollUntilVisible: {element: Terms}",
    "back": "- back",
    "pressKey": "- pressKey: Home",
    "hideKeyboard": "- hideKeyboard",
    "inputText": "- inputText: hello",
    "inputRandomEmail": "- inputRandomEmail",
    "inputRandomNumber": "- inputRandomNumber",
    "inputRandomPersonName": "- inputRandomPersonName",
    "inputRandomText": "- inputRandomText",
    "eraseText": "- eraseText",
    "assertVisible": "- assertVisible: Welcome",
    "assertNotVisible": "- assertNotVisible: Error",
    "extendedWaitUntil": "- extendedWaitUntil: {visible: Welcome, timeout: 5000}",
    "waitForAnimationToEnd": "- waitForAnimationToEnd",
    "takeScreenshot": "- takeScreenshot: home",
    "runFlow": "- runFlow: {commands: [back]}",
    "repeat": "- repeat: {times: 2, commands: [back]}",
    "retry": "- retry: {commands: [back]}",
}


def test_every_supported_command_has_an_example_here():
    assert set(EXAMPLES) == SUPPORTED_COMMANDS


@pytest.mark.parametrize(("name", "text"), EXAMPLES.items())
def test_a_command_knows_its_name_file_and_line(name, text):
    read = command(text, name="folder/flow.yaml")
    assert (read.command, read.file, read.line) == (name, "folder/flow.yaml", 3)
    assert name in read.describe()


@pytest.mark.parametrize(("name", "text"), EXAMPLES.items())
def test_every_command_takes_a_label_and_can_be_optional(name, text):
    plain = command(text)
    assert (plain.label, plain.optional) == (None, False)
    fields = text.partition(":")[2].strip()
    inner = fields.strip("{}") if fields.startswith("{") else (f"{plain.short_form}: {fields}" if fields else "")
    full = command(f"- {name}: {{{', '.join(part for part in (inner, 'label: Say so', 'optional: true') if part)}}}")
    assert (full.label, full.optional, full.describe()) == ("Say so", True, "Say so")


@pytest.mark.parametrize("name", sorted(SUPPORTED_COMMANDS))
def test_an_unknown_field_is_refused_with_the_fields_there_are(name):
    error = refusal(f"- {name}:\n    lable: typo\n")
    assert error.command == name
    assert error.line in {3, 4}
    full = EXAMPLES[name].partition("{")
    if full[1]:
        error = refusal(EXAMPLES[name].replace("{", "{lable: typo, ", 1))
        assert "lable" in error.message
        assert error.suggestion == "label"
        assert {"label", "optional"} <= set(error.allowed)


def test_an_app_that_is_not_named_is_the_one_of_the_header():
    launch, stop, kill = flow("- launchApp\n- stopApp\n- killApp: com.other.app").commands
    assert (launch.app_id, stop.app_id, kill.app_id) == ("com.example.app", "com.example.app", "com.other.app")


def test_launch_app_stops_the_app_first_and_keeps_its_state_unless_told_otherwise():
    plain = command("- launchApp")
    assert (plain.clear_state, plain.stop_app) == (False, True)
    other = command("- launchApp: {clearState: true, stopApp: false}")
    assert (other.clear_state, other.stop_app) == (True, False)


def test_what_launch_app_accepts_without_effect_is_a_warning_once_per_place():
    text = (
        "- repeat:\n    times: 3\n    commands:\n"
        "    - launchApp: {permissions: {all: deny}, arguments: {a: 1}, clearKeychain: true}"
    )
    warnings = flow(text).warnings
    assert [warning.split("`")[1] for warning in warnings] == ["clearKeychain", "permissions", "arguments"]
    assert all(warning.startswith("flow.yaml:6: launchApp") for warning in warnings)


def test_tap_on_has_maestros_defaults():
    tap = command("- tapOn: Login")
    assert (tap.repeat, tap.delay_ms, tap.retry_tap_if_no_change, tap.point) == (1, 100, False, None)
    tap = command("- tapOn: {id: x, repeat: 3, delay: 500, retryTapIfNoChange: true}")
    assert (tap.repeat, tap.delay_ms, tap.retry_tap_if_no_change) == (3, 500, True)


def test_a_point_is_in_percent_or_in_pixels():
    percent, pixels = command("- tapOn: {point: ' 50% , 80% '}").point, command("- tapOn: {point: '100,200'}").point
    assert percent.within(1000, 2000) == (500, 1600)
    assert pixels.within(1000, 2000) == (100, 200)
    assert command("- tapOn: {point: '100%,0%'}").point.within(1000, 2000) == (999, 0)


@pytest.mark.parametrize("point", ["50%", "101%,0%", "50%,20", "-1,5", "a,b", "1,2,3", ""])
def test_another_point_is_refused(point):
    error = refusal(f"- tapOn: {{point: '{point}'}}")
    assert error.command == "tapOn"
    assert error.allowed


def test_a_selector_takes_all_that_maestro_knows_of_elements():
    selector = command(
        "- assertVisible:\n    text: a.*\n    id: some/id\n    index: -1\n    enabled: true\n    checked: false\n"
        "    focused: TRUE\n    selected: false\n    below: top\n    above: {id: bottom}\n"
        "    leftOf: {text: right, index: 0}\n    rightOf: left\n"
        "    containsChild: {id: child, containsChild: grandchild}\n    childOf: {id: parent}"
    ).selector
    assert (selector.text.source, selector.id.source, selector.index) == ("a.*", "some/id", -1)
    assert (selector.enabled, selector.checked, selector.focused, selector.selected) == (True, False, True, False)
    assert selector.below.text.source == "top"
    assert selector.above.id.source == "bottom"
    assert selector.contains_child.contains_child.text.source == "grandchild"
    assert selector.left_of.index == 0
    assert selector.right_of.text.source == "left"
    assert selector.child_of.id.source == "parent"


@pytest.mark.parametrize("field", ["width", "css", "traits", "containsDescendants"])
def test_parts_of_selectors_that_are_not_built_are_refused_by_name(field):
    error = refusal(f"- assertVisible: {{text: a, {field}: 1}}")
    assert f"`{field}` is not supported" in error.message


def test_a_text_that_looks_like_a_number_stays_a_text():
    assert command("- assertVisible: 0").selector.text.source == "0"
    assert command("- inputText: 007").text == "007"
    assert command("- inputText: true").text == "true"


def test_swipe_goes_in_a_direction_or_from_point_to_point():
    assert command("- swipe: {direction: DOWN}").direction is Direction.DOWN
    assert command("- swipe: {direction: left, from: {id: card}}").from_element.id.source == "card"
    points = command("- swipe: {start: '90%, 50%', end: '10%, 50%', duration: 1000}")
    assert (points.start.x, points.end.x, points.duration_ms) == (90, 10, 1000)
    assert command("- swipe: {direction: UP}").duration_ms == 400


@pytest.mark.parametrize(
    "fields",
    [
        "",
        "direction: UP, start: '1,1'",
        "start: '1,1'",
        "end: '1,1'",
        "direction: UP, end: '1,1'",
        "start: '1,1', end: '2,2', from: a",
        "direction: sideways",
        "direction: UP, duration: 0",
    ],
)
def test_a_swipe_that_makes_no_sense_is_refused(fields):
    assert refusal(f"- swipe: {{{fields}}}").command == "swipe"


def test_scroll_until_visible_has_maestros_defaults():
    scroll = command("- scrollUntilVisible: {element: {text: Terms, optional: true}}")
    assert (scroll.direction, scroll.timeout_ms, scroll.speed) == (Direction.DOWN, 20_000, 40)
    assert (scroll.visibility_percentage, scroll.center_element, scroll.optional) == (100, False, True)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Enter", "KEYCODE_ENTER"),
        ("Backspace", "KEYCODE_DEL"),
        ("volume UP", "KEYCODE_VOLUME_UP"),
        ("home", "KEYCODE_HOME"),
    ],
)
def test_keys_have_maestros_names_in_any_case(name, code):
    assert command(f"- pressKey: {name}").key_code == code
    assert command(f"- pressKey: {{key: {name}}}").key_code == code


def test_an_unknown_key_is_refused_with_the_nearest_one():
    error = refusal("- pressKey: Hom")
    assert error.suggestion == "home"
    assert "volume up" in error.allowed


def test_erase_text_erases_fifty_characters_unless_told():
    assert command("- eraseText").characters == 50
    assert command("- eraseText: 3").characters == 3
    assert command("- eraseText: {charactersToErase: 7}").characters == 7


def test_random_texts_have_eight_characters_unless_told():
    assert command("- inputRandomNumber").length == 8
    assert command("- inputRandomText: {length: 4}").length == 4


def test_what_is_typed_is_never_part_of_a_description():
    assert "geheim" not in command("- inputText: geheim").describe()


@pytest.mark.parametrize("name", ["a/b", "../a", ".hidden", "", "x" * 81, "a\\b", "ü"])
def test_a_screenshot_cannot_leave_its_folder(name):
    assert refusal(f"- takeScreenshot: '{name}'").command == "takeScreenshot"


def test_a_screenshot_may_be_named_with_its_ending():
    assert command("- takeScreenshot: home.png").name == "home"


def test_conditions_take_elements():
    run = command("- runFlow: {when: {visible: A, notVisible: {id: b}}, commands: [back]}")
    assert run.when.visible.text.source == "A"
    assert run.when.not_visible.id.source == "b"


@pytest.mark.parametrize(
    "text",
    [
        "- runFlow: {when: {}, commands: [back]}",
        "- runFlow: {when: {visable: A}, commands: [back]}",
        "- runFlow: {when: {true: true}, commands: [back]}",
        "- extendedWaitUntil: {timeout: 5}",
        "- extendedWaitUntil",
    ],
)
def test_a_condition_without_a_condition_is_refused(text):
    assert refusal(text).allowed


@pytest.mark.parametrize(
    "text",
    [
        "- repeat: {commands: [back]}",
        "- repeat: {times: 3}",
        "- repeat: {times: 3, commands: []}",
        "- repeat: {times: 3, commands: back}",
        "- repeat: {times: 0, commands: [back]}",
        "- retry: {maxRetries: 4, commands: [back]}",
        "- retry",
        "- runFlow",
    ],
)
def test_a_holding_command_needs_what_it_holds(text):
    assert refusal(text).allowed


def test_commands_inside_commands_keep_their_own_lines():
    text = "- repeat:\n    times: 2\n    commands:\n    - back\n    - runFlow:\n        commands:\n        - scroll\n"
    lines = {read.command: read.line for read in walk(flow(text).commands)}
    assert lines == {"repeat": 3, "back": 6, "runFlow": 7, "scroll": 9}
