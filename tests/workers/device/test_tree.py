"""Reading what `uiautomator dump` wrote, whatever apps put into it."""

import pytest
from hypothesis import given, strategies as st

from workers.device.observation import Bounds
from workers.device.tree import MAX_DEPTH, MAX_NODES, TreeUnreadable, read_tree

NODE = (
    '<node index="0" text="{text}" resource-id="com.example:id/email" class="android.widget.EditText" '
    'package="com.example" content-desc="an address" hint="Email" checkable="false" checked="true" clickable="true" '
    'enabled="true" focusable="true" focused="true" scrollable="false" long-clickable="false" password="false" '
    'selected="false" bounds="[0,63][1080,231]">{inside}</node>'
)


def dump(inside: str, *, rotation: int = 0) -> bytes:
    head = "UI hierchary dumped to: /data/local/tmp/x.xml\n<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>"
    return f'{head}<hierarchy rotation="{rotation}">{inside}</hierarchy>'.encode()


def node(text: str = "", inside: str = "") -> str:
    return NODE.format(text=text, inside=inside)


def only_node(text: str):
    (found,) = read_tree(dump(node(text))).root.children
    return found


def test_a_node_has_all_that_selectors_ask_for():
    found = only_node("foo &amp; bar")
    assert (found.text, found.hint, found.content_desc) == ("foo & bar", "Email", "an address")
    assert (found.resource_id, found.class_name, found.package) == (
        "com.example:id/email",
        "android.widget.EditText",
        "com.example",
    )
    assert found.bounds == Bounds(0, 63, 1080, 231)
    assert (found.is_enabled, found.is_checked, found.is_focused, found.is_clickable) == (True, True, True, True)
    assert (found.is_selected, found.is_scrollable, found.is_password) == (False, False, False)


def test_the_root_stands_for_the_whole_screen_with_every_window_on_it():
    keyboard = node("q").replace("[0,63][1080,231]", "[0,1600][1080,2400]")
    tree = read_tree(dump(node("a", inside=node("b")) + keyboard, rotation=1))
    assert [found.text for found in tree.root.walk()] == ["", "a", "b", "q"]
    assert tree.root.bounds == Bounds(0, 63, 1080, 2400)
    assert tree.rotation == 1


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("&#55357;&#56832;", "\U0001f600"),
        ("&#xD83D;&#xDE00;", "\U0001f600"),
        ("&#128512;", "\U0001f600"),
        ("&#55357;x", "\ufffdx"),
        ("&#0;&#11;", "\ufffd\ufffd"),
        ("\x0b", "\ufffd"),
        ("&#9999999;", "\ufffd"),
        ("a&#10;b", "a\nb"),
        ("&lt;&#60;", "<<"),
    ],
)
def test_characters_that_are_no_xml_do_not_cost_the_tree(written, read):
    assert only_node(written).text == read


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (b"", "no hierarchy"),
        (b"ERROR: could not get idle state.\n", "no hierarchy"),
        (b"Killed\n", "no hierarchy"),
        (b"null root node returned by UiTestAutomationBridge", "no hierarchy"),
        (dump(""), "empty"),
        (b'<hierarchy rotation="0"/>', "no hierarchy"),
        (b"<?xml" * 1_000_000, "no hierarchy"),
        (b"</hierarchy><?xml <hierarchy", "no hierarchy"),
        (dump(node("x"))[:-30], "no hierarchy"),
        (dump("<node>"), "no valid XML"),
        (dump('<node text="a" text="b"/>'), "no valid XML"),
        (dump(node("&unknown;")), "no valid XML"),
        (dump("<node/>" * MAX_NODES), f"more than {MAX_NODES} nodes"),
        (dump("<node>" * MAX_DEPTH + "</node>" * MAX_DEPTH), f"more than {MAX_DEPTH} levels"),
        (dump(node("x" * 9_000_000)), "bytes"),
    ],
)
def test_what_is_no_tree_says_why(output, reason):
    with pytest.raises(TreeUnreadable, match=reason):
        read_tree(output)


def test_entities_cannot_be_declared():
    bomb = '<!DOCTYPE h [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    output = f'<?xml version="1.0"?>{bomb}<hierarchy rotation="0">{node("&b;")}</hierarchy>'.encode()
    with pytest.raises(TreeUnreadable, match="document type"):
        read_tree(output)


@pytest.mark.parametrize("bounds", ["", "[0,0]", "[a,b][c,d]", "[-5,0][10,20]", "[0,0][" + "9" * 5000 + ",1]"])
def test_strange_bounds_do_not_cost_the_tree(bounds):
    (found,) = read_tree(dump(node().replace("[0,63][1080,231]", bounds))).root.children
    assert found.bounds in {Bounds(0, 0, 0, 0), Bounds(-5, 0, 10, 20)}


@given(st.binary(max_size=300))
def test_garbage_is_never_anything_but_unreadable(garbage):
    for output in (garbage, dump("").replace(b"></", b">" + garbage + b"</")):
        try:
            read_tree(output)
        except TreeUnreadable:
            continue
