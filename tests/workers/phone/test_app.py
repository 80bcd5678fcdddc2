"""What an app does when it is touched, by the apps that come with the phone and with the tests."""

import time

import pytest

from tests.workers.phone.conftest import Hands, until
from workers.phone.app.description import load_app
from workers.phone.phone import Phone


@pytest.fixture
def app_of(tmp_path):
    """Makes a phone with one app, from the YAML after the header."""

    def make(body: str) -> Hands:
        file = tmp_path / "app.yaml"
        file.write_text("package: com.a.b\nlabel: A\nstart: home\n" + body)
        return Hands(Phone(apps=[load_app(file)]), "com.a.b")

    return make


def test_a_form_is_filled_in_and_submitted(notes):
    notes.tap("New note")
    for field, text in {
        "Title": "Tea",
        "What is on your mind?": "Buy tea",
        "Tag": "shop",
        "Author": "Ann",
        "Secret code (optional)": "1234",
    }.items():
        notes.tap(field)
        notes.type(text)
    assert notes.find("code").text == "••••"
    assert notes.find("code").is_password
    notes.press("BACK")
    notes.tap("Save note")
    assert notes.texts()[:3] == ["Notes", "1 notes saved", "Latest: Tea"]
    assert notes.phone.display.frame().toast == "Note saved"


def test_conditions_choose_between_effects(notes):
    notes.tap("New note")
    notes.tap("Save note")
    assert notes.sees("A note needs a title")
    notes.tap("Title")
    notes.type("Tea")
    notes.press("BACK")
    notes.tap("Save note")
    assert notes.sees("A note needs an author")


def test_a_counter_counts_and_a_disabled_button_does_nothing(notes):
    notes.tap("Counter")
    assert not notes.find("Less").is_enabled
    notes.tap("Less")
    assert notes.find("count").text == "0"
    notes.tap("More")
    notes.tap("More")
    notes.tap("Less")
    assert notes.find("count").text == "1"


def test_holding_is_not_tapping(notes):
    notes.tap("Counter")
    notes.tap("More")
    notes.tap("Hold to reset")
    assert notes.find("count").text == "1"
    notes.hold("Hold to reset")
    assert notes.find("count").text == "0"


def test_switches_turn_over_and_are_remembered_until_the_data_is_cleared(notes):
    notes.tap("Settings")
    notes.tap("Dark mode")
    assert notes.find("Dark mode").is_checked
    notes.phone.display.stop_app("dev.corral.notes")
    notes.phone.display.start_app("dev.corral.notes")
    notes.tap("Settings")
    assert notes.find("Dark mode").is_checked
    notes.phone.display.clear_app("dev.corral.notes")
    notes.phone.display.start_app("dev.corral.notes")
    notes.tap("Settings")
    assert not notes.find("Dark mode").is_checked


def test_a_list_scrolls_to_its_ends_and_no_further(notes):
    notes.tap("Library")
    assert notes.find("list").is_scrollable
    assert not notes.sees("Entry 30")
    for _ in range(10):
        notes.swipe((540, 2000), (540, 600))
    assert notes.sees("Entry 30")
    assert not notes.sees("Entry 1")
    notes.tap("Entry 30")
    assert notes.texts()[0] == "Entry 30"
    notes.swipe((100, 1200), (900, 1200))
    assert notes.sees("Entry 30")
    assert notes.sees("Library")


def test_what_is_scrolled_half_out_is_cut_off(notes):
    notes.tap("Library")
    notes.swipe((540, 1500), (540, 1460))
    first, window = notes.find("entry_1"), notes.find("list")
    assert first.bounds.top == window.bounds.top
    assert first.bounds.height < notes.find("entry_2").bounds.height


def test_a_slow_screen_shows_that_it_loads(app_of):
    app = app_of(
        "screens: {home: {nodes: [{kind: button, text: Go, tap: {goto: slow}}]},"
        " slow: {after_ms: 80, nodes: [{kind: text, text: Ready}]}}"
    )
    app.tap("Go")
    assert app.sees("Loading")
    assert not app.sees("Ready")
    until(lambda: app.sees("Ready"))
    assert not app.sees("Loading")


def test_a_delayed_effect_happens_later(app_of):
    app = app_of(
        "state: {n: 0}\nscreens: {home: {nodes: ["
        "{kind: button, text: Go, tap: [{add: {n: 1}}, {add: {n: 10}, after_ms: 60}]}, {kind: text, text: 'n={n}'}]}}"
    )
    app.tap("Go")
    assert app.sees("n=1")
    until(lambda: app.sees("n=11"))


def test_a_double_tap_is_told_from_two_taps(app_of, monkeypatch):
    app = app_of(
        "state: {taps: 0, doubles: 0}\nscreens: {home: {nodes: ["
        "{kind: button, text: Go, tap: {add: {taps: 1}}, double_tap: {add: {doubles: 1}}},"
        "{kind: text, text: '{taps}/{doubles}'}]}}"
    )
    now = time.monotonic()
    monkeypatch.setattr("workers.phone.touch.monotonic_seconds", lambda: now)
    app.tap("Go")
    now += 0.3
    app.tap("Go")
    assert app.sees("1/1")
    now += 0.3
    app.tap("Go")
    now += 0.9
    app.tap("Go")
    assert app.sees("3/1")


def test_swipes_are_told_apart_by_where_they_start_and_end(app_of):
    app = app_of(
        "state: {what: none}\nscreens: {home: {nodes: [{kind: text, text: '{what}'}], swipes: ["
        "{from: [0, '50%', '100%', '100%'], to: [0, 0, '100%', '50%'], do: {set: {what: crossed}}},"
        "{finger: left, do: {set: {what: leftwards}}}]}}"
    )
    app.swipe((900, 600), (900, 1000))
    assert app.sees("none")
    app.swipe((900, 600), (100, 600))
    assert app.sees("leftwards")
    app.swipe((900, 1600), (900, 600))
    assert app.sees("crossed")


def test_back_may_do_something_of_its_own(app_of):
    app = app_of(
        "state: {asked: false}\nscreens: {home: {back: [{set: {asked: true}}, {finish: true, when: leave}],"
        " nodes: [{kind: text, text: 'Sure?', when: asked}, {kind: button, text: 'Yes', tap: {set: {leave: true}}}]}}\n"
        "saved: {leave: false}"
    )
    app.press("BACK")
    assert app.sees("Sure?")
    app.tap("Yes")
    app.press("BACK")
    assert app.phone.display.front is None


def test_a_link_opens_its_screen(notes):
    notes.phone.display.start_app("dev.corral.notes", link="corral://notes/settings?from=mail")
    assert notes.texts()[0] == "Settings"
    notes.press("BACK")
    assert notes.texts()[0] == "Notes"


def test_the_launcher_shows_the_apps_and_starts_them(phone):
    hands = Hands(phone, "dev.corral.notes")
    hands.press("HOME")
    assert hands.texts() == ["Notes", "Example"]
    hands.tap("Example")
    assert hands.sees("Flutter Demo Home Page")
    hands.press("BACK")
    assert phone.display.front is None


def test_an_app_that_was_left_is_found_again_as_it_was(notes):
    notes.tap("Counter")
    notes.tap("More")
    notes.press("HOME")
    notes.tap("Notes")
    assert notes.find("count").text == "1"


def test_nothing_is_touched_on_a_display_that_is_off(notes):
    notes.press("POWER")
    notes.phone.touch.press(notes.middle("Counter"))
    notes.press("WAKEUP")
    assert notes.texts()[0] == "Notes"
