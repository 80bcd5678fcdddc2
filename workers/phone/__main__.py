"""`python -m workers.phone --count 2`, which `corral phone` runs too: phones without the rest of the house."""

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from workers.phone.app.description import AppDescriptionInvalid
from workers.phone.main import PhonesRefused, run_phones
from workers.phone.server import LOOPBACK


def main(words: Sequence[str] | None = None, *, program: str = "python -m workers.phone") -> int:
    """Serves phones until told to stop; `words` are the options, by default those of the command line of `program`."""
    parser = argparse.ArgumentParser(prog=program, description="Serve emulated phones over TCP, for `adb connect`.")
    parser.add_argument("--count", type=int, default=1, help="how many phones")
    parser.add_argument("--base-port", type=int, default=0, help="the first phone's port; 0 picks free ones")
    parser.add_argument("--app", type=Path, action="append", default=[], help="an app's file, or a folder of them")
    parser.add_argument("--log-dir", type=Path, help="a folder for one log of JSON lines for each phone")
    parser.add_argument("--ready-file", type=Path, help="gets the addresses once all phones answer")
    parser.add_argument("--first-serial", type=int, default=1, help="number in the first phone's serial")
    parser.add_argument(
        "--listen",
        default=LOOPBACK,
        help="the address to listen on; whoever reaches it may use the phones (default: %(default)s)",
    )
    options = parser.parse_args(words)
    try:
        asyncio.run(_until_told(options))
    except (PhonesRefused, AppDescriptionInvalid) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


async def _until_told(options: argparse.Namespace) -> None:
    serving = asyncio.create_task(
        run_phones(
            count=options.count,
            base_port=options.base_port,
            app_paths=options.app,
            log_dir=options.log_dir,
            ready_file=options.ready_file,
            first_serial=options.first_serial,
            listen=options.listen,
        )
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await serving


if __name__ == "__main__":
    sys.exit(main())
