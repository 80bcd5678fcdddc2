"""The browser that tests of web pages drive: where it is, and how it gets there on a machine that has none.

`python -m tests.browser` installs one where there is none; `make test` runs it.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Playwright is imported where it is used: a machine that has a browser should not wait for it before the tests.

#: Names on PATH and usual places; the first that is there counts.
NAMES = (
    *("chromium", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge"),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
ADVICE = "there is no Chromium: install one, or name it in CORRAL_TEST_BROWSER"
#: A container gives little shared memory, which Chromium takes for a crash.
ARGUMENTS = ("--disable-dev-shm-usage", "--disable-gpu", "--no-first-run")
#: Says that it was tried in vain, so that each `make test` does not try again. CI always tries.
IN_VAIN = Path(".venv/.no-browser")


def browser_path() -> str | None:
    """The browser of CORRAL_TEST_BROWSER, or one of the machine; None where only Playwright's own may be there."""
    named = os.environ.get("CORRAL_TEST_BROWSER")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def chromium() -> Iterator["Browser"]:
    """A headless Chromium. Without one, the test is skipped; in CI, or where one was named, it fails."""
    import pytest
    from playwright.sync_api import Error, sync_playwright

    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=browser_path(), args=ARGUMENTS)
        except Error as trouble:
            if _is_ci() or "CORRAL_TEST_BROWSER" in os.environ:
                pytest.fail(f"{ADVICE}\n{trouble.message}")
            pytest.skip(ADVICE)
        yield browser
        browser.close()


def install() -> None:
    """Make sure of a browser; where that cannot be done, say what comes of it."""
    if browser_path() is not None or (IN_VAIN.exists() and not _is_ci()) or _is_downloaded():
        return
    sys.stdout.write("Installing Chromium for the tests of web pages (once)\n")
    sys.stdout.flush()
    for command in _commands():
        # Nobody is there to be asked.
        asks_nobody = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=asks_nobody)
        if browser_path() is not None or _is_downloaded():
            return
    IN_VAIN.touch()
    sys.stderr.write(
        f"None of the ways to install Chromium worked, and {ADVICE}. Without it the tests of web pages are skipped; "
        f"with CI=true they fail. To try once more, remove {IN_VAIN}.\n"
    )


def _commands() -> Iterator[list[str]]:
    is_root, has_apt = os.geteuid() == 0, shutil.which("apt-get") is not None
    # Ubuntu's package is a wrapper for snap, which containers do not have.
    if is_root and has_apt and "\nID=debian\n" in _os_release():
        yield ["apt-get", "update", "-qq"]
        yield ["apt-get", "install", "-qq", "-y", "--no-install-recommends", "chromium"]
    with_libraries = ["--with-deps"] if is_root and has_apt else []
    yield [sys.executable, "-m", "playwright", "install", *with_libraries, "chromium"]


def _is_downloaded() -> bool:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return Path(playwright.chromium.executable_path).exists()


def _os_release() -> str:
    file = Path("/etc/os-release")
    return f"\n{file.read_text()}\n" if file.exists() else ""


def _is_ci() -> bool:
    return os.environ.get("CI") == "true"


if __name__ == "__main__":
    install()
