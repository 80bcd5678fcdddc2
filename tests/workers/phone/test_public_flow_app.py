"""The app for the public demo flows has what they look for, in the places where they look."""

import pytest


def test_the_home_screen_has_its_buttons_and_a_counter(example):
    for words in (
        "Flutter Demo Home Page",
        "Form Test",
        "Input Test",
        "Swipe Test",
        "Nesting Test",
        "Defects Test",
        "0",
    ):
        assert example.sees(words)
    example.tap("fabAddIcon")
    example.tap("fabAddIcon")
    assert example.sees("2")


def test_the_counter_starts_again_with_the_app(example):
    example.tap("fabAddIcon")
    example.phone.display.stop_app("com.example.example")
    example.phone.display.start_app("com.example.example")
    assert example.sees("0")


def test_the_second_login_from_above_is_the_button(example):
    example.tap("Form Test")
    nodes = [node for node in example.phone.display.frame().walk() if node.text == "Login"]
    nodes.sort(key=lambda node: (node.bounds.top, node.bounds.left))
    assert [node.is_clickable for node in nodes] == [False, True]


@pytest.mark.parametrize(
    ("password", "verdict"), [("maestro", "Credentials are correct"), ("wrong", "Wrong credentials")]
)
def test_the_form_judges_credentials(example, password, verdict):
    example.tap("Form Test")
    example.tap("Email")
    example.type("correct@mobile.dev")
    example.tap("Password")
    example.type(password)
    example.phone.touch.press((540, 650))
    assert example.sees(verdict)


def test_all_is_green_only_when_each_square_was_met(example):
    def at(x_percent: int, y_percent: int) -> tuple[int, int]:
        return 1080 * x_percent // 100, 2400 * y_percent // 100

    example.tap("Swipe Test")
    for start, end in ((at(50, 15), at(15, 50)), (at(15, 50), at(85, 85)), (at(85, 85), at(85, 50))):
        example.swipe(start, end)
        assert not example.sees("All green")
    example.phone.touch.press(at(85, 50))
    assert example.sees("All green")


def test_the_nested_boxes_lie_between_their_sides(example):
    example.tap("Nesting Test")
    inner, outer = example.find("level-1"), example.find("level-0")
    assert inner in outer.children
    assert example.find("level-2") in inner.children
    assert example.find("left side").bounds.right <= inner.bounds.left
    assert inner.bounds.right <= example.find("right side").bounds.left
    assert example.find("top side").bounds.bottom <= inner.bounds.top
    assert inner.bounds.bottom <= example.find("bottom side").bounds.top
