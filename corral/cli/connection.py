"""Which control plane a command speaks to."""

from dataclasses import dataclass

import typer

from corral.cli.failures import WrongUsage
from corral.cli.secret import secret_of
from corral.client import Corral
from corral.stack.state_folder import ReadyInfo, StackFolder, default_state_dir


@dataclass(frozen=True, slots=True)
class Target:
    """What the user said about it, with options or the environment."""

    url: str | None
    api_key: str | None


def connect(context: typer.Context) -> Corral:
    """The control plane that was named, or else the one that `corral up` runs on this machine.

    Raises:
        WrongUsage: there is neither.
    """
    target = context.find_object(Target) or Target(None, None)
    running = StackFolder(default_state_dir()).running()
    url = target.url or (running and running.api_url)
    api_key = target.api_key or secret_of("CORRAL_API_KEY") or _key_for(url, running)
    if not url:
        raise WrongUsage(
            "no control plane is named and none runs here: start one with `corral up`, "
            "or give --url and --api-key (CORRAL_URL, CORRAL_API_KEY)"
        )
    if not api_key:
        raise WrongUsage(f"no key for {url}: give --api-key (CORRAL_API_KEY)")
    if not (api_key.isascii() and api_key.isprintable()):
        raise WrongUsage("this is no API key: one looks like corral_<id>_<secret>, without spaces and line ends")
    try:
        return Corral(url, api_key)
    except ValueError as wrong_url:
        raise WrongUsage(str(wrong_url)) from None


def _key_for(url: str | None, running: ReadyInfo | None) -> str | None:
    # The key of this machine's own stack is sent to that stack and to nobody else.
    return running.api_key if running and running.api_url == url else None
