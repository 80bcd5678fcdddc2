"""A target means exactly one place, or nothing is touched."""

import pytest
from pydantic import ValidationError

from tests.workers.agent.tools.calls import Toolbox, point, text
from tests.workers.run.far_side import FarDevice, node, screen, unreadable
from workers.device.actions import Swipe, Tap

pytestmark = pytest.mark.anyio


def button(label, top=0, **fields):
    return node(label, bounds=(0, top, 100, top + 100), states="clickable", **fields)


@pytest.mark.parametrize(
    "target",
    [
        {},
        "Save",
        None,
        {"index": 0},
        {"index": "0", "observation_id": "o-1"},
        {"index": True, "observation_id": "o-1"},
        {"index": -1, "observation_id": "o-1"},
        {"x": 1, "y": 1},
        {"x": True, "y": 1, "space": "px"},
        {"x": "1", "y": 1, "space": "px"},
        {"x": float("nan"), "y": 1, "space": "px"},
        {"x": float("inf"), "y": 1, "space": "px"},
        {"x": 0.5, "y": 0.5, "space": "fraction"},
        {"x": 1, "y": 1, "space": "px", "text": "Save"},
        {"index": 0, "observation_id": "o-1", "id": "save"},
        {"text": ""},
        {"id": None, "text": None},
        {"text": "Save", "colour": "red"},
    ],
)
async def test_what_is_not_exactly_one_target_is_refused(target):
    box = Toolbox(FarDevice())
    with pytest.raises(ValidationError):
        await box.call("tap", target=target)
    assert (box.device.actions, box.device.looks) == ([], 0)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"finger": "north"},
        {"finger": "up", "distance": 100},
        {"finger": "up", "from": point(1, 1), "to": point(2, 2)},
        {"from": point(1, 1)},
        {"to": point(1, 1)},
        {"from": point(1, 1), "to": point(2, 2), "target": point(1, 1)},
        {"direction": "up"},
    ],
)
async def test_a_swipe_has_a_finger_or_two_ends(arguments):
    with pytest.raises(ValidationError):
        await Toolbox(FarDevice()).call("swipe", **arguments)


async def test_a_scroll_has_no_bare_direction():
    for arguments in ({"direction": "down"}, {"finger": "down"}, {}, {"reveal": "down", "target": point(1, 1)}):
        with pytest.raises(ValidationError):
            await Toolbox(FarDevice()).call("scroll", **arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "action"),
    [
        ("swipe", {"finger": "up", "distance": 50}, Swipe(500, 1500, 500, 500, 400)),
        ("swipe", {"finger": "down", "distance": 50}, Swipe(500, 500, 500, 1500, 400)),
        ("swipe", {"finger": "left", "distance": 80}, Swipe(900, 1000, 100, 1000, 400)),
        ("swipe", {"finger": "right", "distance": 80}, Swipe(100, 1000, 900, 1000, 400)),
        ("swipe", {"finger": "right", "distance": 10, "target": text("Row")}, Swipe(50, 350, 150, 350, 400)),
        ("scroll", {"reveal": "down"}, Swipe(500, 1000, 500, 200, 500)),
        ("scroll", {"reveal": "up"}, Swipe(500, 1000, 500, 1800, 500)),
        ("scroll", {"reveal": "right"}, Swipe(500, 1000, 100, 1000, 500)),
        ("scroll", {"reveal": "left"}, Swipe(500, 1000, 900, 1000, 500)),
        ("scroll", {"reveal": "down", "target": text("Row")}, Swipe(50, 350, 50, 310, 500)),
    ],
)
async def test_a_finger_goes_as_it_is_told_and_to_reveal_goes_the_other_way(name, arguments, action):
    box = Toolbox(FarDevice(screen(button("Row", top=300))))
    assert (await box.call(name, **arguments)).status == "done"
    assert box.device.actions == [action]


async def test_the_text_of_a_selector_is_taken_as_it_is():
    box = Toolbox(FarDevice(screen(button("Pay (1.00)"), button("Pay (1x00)", top=500))))
    assert (await box.call("tap", target=text("pay (1.00)"))).status == "done"
    assert (await box.call("tap", target=text(".*"))).code == "no_such_element"
    assert box.device.actions == [Tap(50, 50)]


async def test_of_several_elements_the_only_one_that_can_be_clicked_is_meant():
    box = Toolbox(FarDevice(screen(node("Save", bounds=(0, 500, 9, 600)), button("Save"))))
    assert (await box.call("tap", target=text("Save"))).status == "done"
    assert box.device.actions == [Tap(50, 50)]


async def test_what_is_not_clear_is_not_touched():
    box = Toolbox(FarDevice(screen(button("Save", resource_id="a:id/one"), button("Save", top=500, resource_id="two"))))
    outcome = await box.call("tap", target=text("Save"))
    assert (outcome.status, outcome.code) == ("failed", "ambiguous")
    assert '"Save" id=one at (50, 50)' in outcome.text
    assert box.device.actions == []
    assert (await box.call("tap", target={"text": "Save", "id": "two"})).status == "done"
    assert box.device.actions == [Tap(50, 550)]


async def test_what_is_not_there_is_told_with_what_is():
    box = Toolbox(FarDevice(screen(button("Cancel\nall"), node("", hint="Name"))))
    outcome = await box.call("tap", target=text("Save"))
    assert (outcome.status, outcome.code) == ("failed", "no_such_element")
    assert r"""no element on the screen has text 'Save'; it shows "Cancel\nall", "Name".""" in outcome.text


async def test_nothing_is_looked_for_on_a_screen_that_cannot_be_read():
    outcome = await Toolbox(FarDevice(unreadable())).call("tap", target=text("Save"))
    assert (outcome.status, outcome.code) == ("failed", "tree_unavailable")


async def test_an_index_needs_an_observation_that_was_made():
    box = Toolbox(FarDevice())
    outcome = await box.call("tap", target={"index": 0, "observation_id": "o-1"})
    assert (outcome.code, box.device.looks) == ("stale_observation", 0)


async def test_an_index_is_the_middle_of_the_part_that_can_be_seen():
    box = Toolbox(FarDevice(screen(node("x", bounds=(-100, 1900, 100, 2300)))))
    shown = await box.observe()
    await box.call("tap", target=shown.target('"x"'))
    assert box.device.actions == [Tap(50, 1950)]


async def test_a_look_for_a_text_leaves_the_indices_good():
    box = Toolbox(FarDevice(screen(button("x"))))
    shown = await box.observe()
    assert (await box.call("wait_for", target=text("x"))).status == "done"
    assert (await box.call("read_text", target=text("x"))).status == "done"
    assert (await box.call("tap", target=shown.target('"x"'))).status == "done"


async def test_a_disabled_element_is_named_as_one():
    box = Toolbox(FarDevice(screen(node("Save", states="disabled clickable"))))
    assert "which is disabled" in (await box.call("tap", target=text("Save"))).text


async def test_the_text_at_a_point_inside_a_row_or_of_a_field_is_read():
    box = Toolbox(
        FarDevice(
            screen(
                node(
                    "", node("Ann", bounds=(0, 0, 500, 50)), node("Smith", bounds=(0, 50, 500, 99)), resource_id="row"
                ),
                node("secret", resource_id="pass", states="password"),
                node("Hint", hint="Hint", resource_id="empty", bounds=(0, 500, 9, 600)),
            )
        )
    )
    assert (await box.call("read_text", target={"id": "row"})).text == r'text: "Ann\nSmith"'
    assert (await box.call("read_text", target=point(10, 10))).code == "policy_denied"
    assert (await box.call("read_text", target={"id": "pass"})).code == "policy_denied"
    assert (await box.call("read_text", target={"id": "empty"})).code == "no_such_element"
    box = Toolbox(FarDevice(screen(node("Ann", bounds=(0, 0, 500, 50)))))
    assert (await box.call("read_text", target=point(10, 10))).text == 'text: "Ann"'
    assert (await box.call("read_text", target=point(10, 60))).code == "no_such_element"
