import pytest

from corral.flow.parser import parse_flow
from tests.workers.run.far_side import node, screen, unreadable
from workers.device.matching import find_element


def selector(text):
    return parse_flow(f"appId: a.b\n---\n- assertVisible: {text}").commands[0].selector


def found(text, *nodes):
    element = find_element(selector(text), screen(*nodes))
    return element and (element.resource_id or element.text or element.hint or element.content_desc)


@pytest.mark.parametrize("field", ["text", "hint", "content_desc"])
def test_a_text_is_looked_for_in_text_hint_and_description(field):
    assert found("log.n", node(**{field: "Login"})) == "Login"


def test_a_part_of_a_text_is_not_enough():
    assert found("Log", node("Login")) is None


def test_a_text_over_several_lines_is_found_with_spaces():
    assert found("two lines", node("two\nlines"))


def test_text_and_id_must_both_hold():
    fields = node("OK", resource_id="a:id/no"), node("OK", resource_id="a:id/yes")
    assert found("{text: OK, id: yes}", *fields) == "a:id/yes"
    assert found("{id: 'a:id/no'}", *fields) == "a:id/no"
    assert found("{text: OK, id: perhaps}", *fields) is None


def test_the_deepest_matching_element_is_meant():
    inner = node("Login", resource_id="inner", bounds=(1, 1, 5, 5))
    assert found("Login", node("Login", node("", inner), resource_id="outer")) == "inner"


def test_a_clickable_element_comes_before_others():
    nodes = node("Login", resource_id="title"), node("Login", resource_id="button", states="clickable")
    assert found("Login", *nodes) == "button"


def places(*boxes):
    return [node("x", resource_id=name, bounds=(x, y, x + 10, y + 10)) for name, x, y in boxes]


@pytest.mark.parametrize(("index", "name"), [(0, "a"), (1, "b"), (2, "c"), (3, None), (-1, "c"), (-3, "a"), (-4, None)])
def test_an_index_counts_from_the_top_left_and_a_negative_one_from_the_end(index, name):
    assert found(f"{{text: x, index: {index}}}", *places(("c", 0, 50), ("b", 40, 10), ("a", 20, 10))) == name


@pytest.mark.parametrize(
    ("state", "states"),
    [
        ("enabled: false", "disabled"),
        ("checked: true", "checked"),
        ("focused: true", "focused"),
        ("selected: true", "selected"),
    ],
)
def test_a_state_chooses_among_elements(state, states):
    nodes = node("x", resource_id="other"), node("x", resource_id="right", states=states)
    assert found(f"{{text: x, {state}}}", *nodes) == "right"


def test_an_element_outside_the_screen_or_without_size_is_not_there():
    assert found("x", node("x", bounds=(0, 2000, 10, 2100))) is None
    assert found("x", node("x", bounds=(10, 10, 10, 20))) is None
    assert found("x", node("x", bounds=(0, 1990, 10, 2100)))


@pytest.mark.parametrize(
    ("relation", "name"), [("below", "below"), ("above", "above"), ("leftOf", "left"), ("rightOf", "right")]
)
def test_relations_compare_the_top_left_corners(relation, name):
    boxes = places(("left", 100, 500), ("right", 900, 500), ("above", 500, 100), ("below", 500, 900))
    center = node("center", bounds=(500, 500, 510, 510))
    assert found(f"{{text: x, {relation}: center}}", *boxes, center) == name


def test_among_several_the_nearest_to_what_it_relates_to_is_meant():
    boxes = places(("far", 0, 10), ("near", 0, 90), ("below", 0, 200))
    assert found("{text: x, above: center}", *boxes, node("center", bounds=(0, 100, 10, 110))) == "near"


def test_a_relation_to_something_that_is_not_there_matches_nothing():
    assert found("{text: x, below: nowhere}", *places(("a", 0, 50))) is None


def test_a_child_is_a_direct_child():
    child = node("child", bounds=(1, 1, 2, 2))
    assert found("{id: a, containsChild: child}", node("", child, resource_id="a")) == "a"
    assert found("{id: a, containsChild: child}", node("", node("", child), resource_id="a")) is None


def test_an_element_is_looked_for_inside_its_parent_however_deep():
    second = node("", node("", node("x", resource_id="right")), resource_id="list-2")
    nodes = node("", node("x", resource_id="wrong"), resource_id="list-1"), second
    assert found("{text: x, childOf: {id: list-2}}", *nodes) == "right"
    assert found("{text: x, childOf: {id: list-3}}", *nodes) is None


def test_a_relation_alone_is_a_selector():
    field = node("", hint="name", bounds=(0, 100, 10, 110), states="clickable")
    assert found("{below: Name}", node("Name", bounds=(0, 10, 10, 20)), field) == "name"


def test_a_screen_that_cannot_be_read_shows_nothing():
    assert find_element(selector("x"), unreadable()) is None
