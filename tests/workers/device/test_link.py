"""URLs that a phone opens, and those that nobody sends to it."""

import pytest

from workers.device.actions import OpenUrl
from workers.device.link import refusal_of
from workers.device.outcome import Done, ErrorCode, Failed
from workers.phone.app.description import BUILT_IN_APPS, load_apps
from workers.phone.phone import Phone

pytestmark = pytest.mark.anyio


@pytest.fixture
def phone() -> Phone:
    return Phone("PHONE", apps=load_apps([BUILT_IN_APPS]))


def starts(phone) -> list[str]:
    return [command for command in phone.log.commands() if command.startswith("am start")]


async def test_a_url_opens_the_screen_of_the_app_that_it_belongs_to(device, phone):
    assert isinstance(await device.perform(OpenUrl("corral://notes/new")), Done)
    assert phone.display.front is not None
    assert phone.display.front.description.package == "dev.corral.notes"
    texts = [node.hint for node in (await device.observe()).tree.walk()]
    assert "Title" in texts


async def test_what_a_shell_would_read_arrives_as_it_is(device, phone):
    url = "corral://notes/new?q=$(reboot);`reboot`&x=\"1\"|'2'"
    assert isinstance(await device.perform(OpenUrl(url)), Done)
    assert len(starts(phone)) == 1
    assert phone.display.front is not None


async def test_a_url_that_no_app_opens_says_so(device):
    outcome = await device.perform(OpenUrl("https://example.com/"))
    assert outcome == Failed(ErrorCode.APP_NOT_LAUNCHABLE, "no app on this device opens https://example.com/")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "https://",
        "http:///etc",
        "https://a b",
        "https://a\nb",
        "https://a/\N{LATIN SMALL LETTER E WITH ACUTE}",
        "file:///sdcard/x",
        "FILE:///sdcard/x",
        "content://contacts",
        "javascript:alert(1)",
        "intent://x#Intent;end",
        "-d https://example.com",
        "https://example.com/" + "a" * 2000,
    ],
)
async def test_what_is_no_url_to_open_is_not_sent(device, phone, url):
    outcome = await device.perform(OpenUrl(url))
    assert isinstance(outcome, Failed)
    assert outcome.code is ErrorCode.INVALID_URL
    assert starts(phone) == []


@pytest.mark.parametrize(
    "url", ["https://example.com", "HTTP://example.com/a?b#c", "tel:+491234", "market://details?id=a.b"]
)
def test_web_pages_and_schemes_of_apps_are_opened(url):
    assert refusal_of(url) is None
