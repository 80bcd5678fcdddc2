"""A process full of phones: what `corral phone` runs."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from workers.phone.app.description import BUILT_IN_APPS, load_apps
from workers.phone.fleet import Fleet, serve_phones
from workers.phone.server import LOOPBACK

_MAX_PHONES = 500
_PORTS = range(1024, 65536)


class PhonesRefused(Exception):
    """These phones cannot be served; the text says why."""


async def run_phones(
    *,
    count: int,
    base_port: int = 0,
    app_paths: Sequence[Path] = (),
    log_dir: Path | None = None,
    ready_file: Path | None = None,
    first_serial: int = 1,
    listen: str = LOOPBACK,
) -> None:
    """Serve phones with the built-in apps and those of `app_paths` (files or folders) until cancelled.

    Prints a line for each phone; `ready_file` gets `{"pid": …, "phones": [{"serial", "address", "model"}]}` once all
    answer. With a base port a restarted process has the same addresses.

    Raises:
        PhonesRefused: the numbers make no sense, or a port is taken.
        AppDescriptionInvalid: an app's file is wrong.
    """
    if not 1 <= count <= _MAX_PHONES:
        raise PhonesRefused(f"{count} phones: between 1 and {_MAX_PHONES} are possible")
    if base_port and (base_port not in _PORTS or base_port + count - 1 not in _PORTS):
        raise PhonesRefused(f"base port {base_port}: {count} ports from there must lie in {_PORTS[0]} to {_PORTS[-1]}")
    apps = load_apps([BUILT_IN_APPS, *app_paths])
    if log_dir is not None:
        log_dir.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 - nothing is served yet
    try:
        async with serve_phones(
            count=count, apps=apps, base_port=base_port, first_serial=first_serial, log_dir=log_dir, listen=listen
        ) as fleet:
            _announce(fleet, ready_file)
            await asyncio.Event().wait()
    except OSError as error:
        raise PhonesRefused(f"cannot listen: {error}") from error


def _announce(fleet: Fleet, ready_file: Path | None) -> None:
    facts = [
        {"serial": server.phone.serial, "address": server.address, "model": server.phone.model}
        for server in fleet.servers
    ]
    for fact in facts:
        sys.stdout.write(f"{fact['serial']}  {fact['address']}  {fact['model']}\n")
    sys.stdout.flush()
    if ready_file is not None:
        # Whoever waits for the file must never read half of it.
        partial = ready_file.with_name(ready_file.name + ".partial")
        partial.write_text(json.dumps({"pid": os.getpid(), "phones": facts}, indent=2) + "\n", encoding="utf-8")
        partial.replace(ready_file)
