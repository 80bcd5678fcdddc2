"""The `corral` command, for people and for scripts.

Each file here is a few commands: they read options, call the SDK or start a part, and show what came of it. What goes
wrong is told in one place, `run`, as words or as a problem document, with an exit code that a script can use.
"""

import sys
from io import TextIOWrapper


def main() -> None:
    """The entry point: runs the command line and ends the process with its exit code."""
    from corral.cli.run import run

    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a letter gets a question mark in its place, and not an error.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.exit(run(sys.argv[1:]))
