"""Opening a URL with whatever app it belongs to."""

import re

from workers.device.command_line import command
from workers.device.outcome import ErrorCode, Failed, Outcome
from workers.device.shell import Shell
from workers.device.verdict import outcome_of, short

MAX_URL_CHARACTERS = 2000

_DEADLINE_SECONDS = 20.0
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):[\x21-\x7e]+")
_WEB = re.compile(r"https?://[^/?#]", re.IGNORECASE)
#: They read what lies on the phone, run a script in the page that is open, or are intents of their own.
_REFUSED_SCHEMES = frozenset({"file", "content", "javascript", "data", "intent", "android-app", "about", "view-source"})


def open_url(shell: Shell, url: str) -> Outcome:
    """`Done` when the phone has handed the URL to an app; what the app makes of it has to be looked at."""
    refused = refusal_of(url)
    if refused is not None:
        return refused
    line = command("am", "start", "-a", "android.intent.action.VIEW", "-d", url)
    outcome = outcome_of(shell.run(line, changes_device=True, deadline_seconds=_DEADLINE_SECONDS))
    if isinstance(outcome, Failed) and "unable to resolve" in outcome.message:
        return Failed(ErrorCode.APP_NOT_LAUNCHABLE, f"no app on this device opens {short(url)}")
    return outcome


def refusal_of(url: str) -> Failed | None:
    """Why this is no URL to open, or None."""
    if len(url) > MAX_URL_CHARACTERS:
        return _invalid(f"it has {len(url)} characters; {MAX_URL_CHARACTERS} are possible")
    found = _URL.fullmatch(url)
    if found is None:
        return _invalid("a URL begins with its scheme, such as https://, and has no blanks and only ASCII letters")
    scheme = found[1].lower()
    if scheme in _REFUSED_SCHEMES:
        return _invalid(f"URLs of the scheme {scheme} are not opened")
    if scheme in {"http", "https"} and not _WEB.match(url):
        return _invalid(f"{scheme} needs a host, as in {scheme}://example.com")
    return None


def _invalid(why: str) -> Failed:
    return Failed(ErrorCode.INVALID_URL, why)
