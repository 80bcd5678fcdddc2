"""The `corral` command, for people and for scripts.

Each file here is a few commands: they read options, call the SDK or start a part, and show what came of it. What goes
wrong is told in one place, `run`, as words or as a problem document, with an exit code that a script can use.
"""

import os
import sys
from io import TextIOWrapper
from pathlib import Path

from corral.collector import collect_seldom


def main() -> None:
    """The entry point: runs the command line and ends the process with its exit code."""
    # Looking through what is imported, again and again, takes a tenth of a start.
    collect_seldom()
    from corral.cli.exit_codes import ExitCode
    from corral.cli.run import run

    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - open until the process ends
    if sys.stdout is None:
        # Going on would be dangerous: the next file or socket that is opened would become stdout.
        print("Error: stdout is closed; to see no results, send them to /dev/null.", file=sys.stderr)
        sys.exit(ExitCode.USAGE)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a letter gets a question mark in its place, and not an error.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.exit(run(sys.argv[1:]))
