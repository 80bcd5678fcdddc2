import io
import time
from xml.etree import ElementTree as ET

import pytest
from PIL import Image

from tests.workers.phone.conftest import Hands
from workers.phone.app.description import load_app
from workers.phone.phone import Phone
from workers.phone.picture.screenshot import black_png, frame_png

BLUE, GREY, GREEN, WHITE = (53, 103, 214), (184, 190, 201), (46, 158, 91), (255, 255, 255)


def picture(hands) -> Image.Image:
    image = Image.open(io.BytesIO(frame_png(hands.phone.display.frame(), hands.phone.serial)))
    image.load()
    return image


def test_it_has_the_size_of_the_display(notes):
    assert (picture(notes).size, picture(notes).mode) == ((1080, 2400), "RGB")


def test_things_are_where_the_tree_says(notes):
    bounds = notes.find("New note").bounds
    assert picture(notes).getpixel((bounds.left + 70, bounds.top + 10)) == BLUE
    assert picture(notes).getpixel((bounds.left + 70, bounds.bottom + 10)) == WHITE


def test_it_follows_what_happens(example):
    example.tap("Swipe Test")
    assert picture(example).getpixel((540, 290)) == GREY
    example.swipe((540, 360), (162, 1200))
    assert picture(example).getpixel((540, 290)) == GREEN


def test_the_keyboard_is_seen(example):
    example.tap("Input Test")
    before = picture(example).getpixel((20, 1620))
    example.tap("textInput")
    assert picture(example).getpixel((20, 1620)) != before


@pytest.mark.parametrize("words", ["New note", "Library", "Counter", "Settings", "Vault", "Statistics"])
def test_every_screen_can_be_drawn(notes, words):
    start = picture(notes).tobytes()
    notes.tap(words)
    assert picture(notes).tobytes() != start


def test_a_secret_screen_is_black_in_pictures_and_whole_in_the_tree(connected):
    connected.run("shell", "am start -n dev.corral.notes/.MainActivity; input tap 540 1200")
    assert connected.phone.display.front.visit.name == "vault"
    assert connected.run("exec-out", "screencap", "-p").stdout == black_png()
    assert b"Nothing to see in pictures" in connected.run("shell", "uiautomator dump /dev/tty").stdout


def test_a_screenshot_can_go_to_a_file(connected, tmp_path):
    assert connected.run("shell", "screencap -p /sdcard/shot.png").stdout == b""
    connected.run("pull", "/sdcard/shot.png", str(tmp_path / "shot.png"))
    with Image.open(tmp_path / "shot.png") as image:
        assert image.size == (1080, 2400)


def test_a_screen_that_was_drawn_is_not_drawn_again(notes):
    first = frame_png(notes.phone.display.frame(), "X")
    asked_at = time.process_time()
    for _ in range(100):
        assert frame_png(notes.phone.display.frame(), "X") is first
    assert time.process_time() - asked_at < 0.5


@pytest.mark.parametrize(
    "node",
    [
        "{kind: button, text: A, place: [500, 500, 100, 100]}",
        "{kind: box, place: ['-50%', -10, '150%', 5000]}",
        "{kind: box, height: 0}",
        "{kind: icon, sign: '+', width: 1, height: 1}",
        "{kind: row, nodes: [{kind: field, bind: t, width: 2000}, {kind: switch, bind: b, text: B}]}",
        "{kind: column, nodes: [{kind: scroll, nodes: [{kind: image, for_each: 50}]}]}",
        "{kind: text, text: '\\t\\0\\u200b😀 مرحبا', size: huge}".replace("'", '"'),
        "{kind: checkbox, bind: b, text: B, height: 3}",
        "{kind: progress, height: 10}",
        "{kind: text, text: '', for_each: 200}",
    ],
)
def test_even_odd_layouts_are_drawn_and_dumped(tmp_path, node):
    file = tmp_path / "odd.yaml"
    state = "state: {t: '', b: true}"
    file.write_text(f"package: com.a.b\nlabel: A\nstart: s\n{state}\nscreens: {{s: {{title: Odd, nodes: [{node}]}}}}\n")
    hands = Hands(Phone(apps=[load_app(file)]), "com.a.b")
    assert picture(hands).size == (1080, 2400)
    assert "Odd" in [element.get("text") for element in ET.fromstring(hands.xml()).iter("node")]  # noqa: S314 - our own
