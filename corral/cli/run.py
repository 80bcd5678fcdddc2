"""Runs a command line. Whatever goes wrong in it becomes words or a problem document here, and never a traceback."""

import json
import os
import sys
from collections.abc import Sequence

import typer
from pydantic import ValidationError
from typer.main import get_command

from corral.cli.app import app
from corral.cli.exit_codes import ExitCode
from corral.cli.failures import CommandFailed
from corral.cli.output import problem_json, show_problem, stderr
from corral.cli.wrong_values import sentences
from corral.client.errors import CorralError, Refused, Unreachable, WaitTimedOut


def run(arguments: Sequence[str]) -> int:  # noqa: PLR0911 - one place that knows every way to end
    """The exit code of one command line."""
    wants_json = "--json" in arguments
    try:
        code = get_command(app).main(list(arguments), prog_name="corral", standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as mistake:
        # Pydantic puts its own words before those of a validator; the validator's say it all.
        mistake.message = mistake.message.replace("Value error, ", "")
        if wants_json:
            return _fail("usage", mistake.format_message(), ExitCode.USAGE, wants_json=True)
        # Slow to import, and seldom needed.
        from typer.rich_utils import rich_format_error

        rich_format_error(mistake)  # pyright: ignore[reportArgumentType] - what typer raises for a command line
        return ExitCode.USAGE
    except ValidationError as mistake:
        return _fail("usage", sentences(mistake), ExitCode.USAGE, wants_json=wants_json)
    except CommandFailed as failure:
        return _fail(failure.code, str(failure), failure.exit_code, wants_json=wants_json)
    except CorralError as failure:
        return _tell(failure, wants_json=wants_json)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # Whoever read us has seen enough (`corral tasks | head`); Python must not complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except Exception as bug:
        if os.environ.get("CORRAL_TRACEBACK"):
            raise
        told = f"{type(bug).__name__}: {bug}. Set CORRAL_TRACEBACK=1 to see where it comes from."
        return _fail("internal_error", told, ExitCode.FAILED, wants_json=wants_json)
    return int(code or ExitCode.OK)


def _tell(failure: CorralError, *, wants_json: bool) -> ExitCode:
    match failure:
        case Refused(problem=problem):
            show_problem(problem, as_json=wants_json)
            return ExitCode.REFUSED
        case Unreachable():
            return _fail("unreachable", str(failure), ExitCode.UNREACHABLE, wants_json=wants_json)
        case WaitTimedOut():
            return _fail("wait_timed_out", str(failure), ExitCode.FAILED, wants_json=wants_json)
        case _:
            return _fail("failed", str(failure), ExitCode.FAILED, wants_json=wants_json)


def _fail(code: str, detail: str, exit_code: ExitCode, *, wants_json: bool) -> ExitCode:
    if wants_json:
        print(json.dumps(problem_json(code, detail)), file=sys.stderr)
    else:
        stderr().print(f"[bold red]Error:[/] {_escaped(detail)}", highlight=False)
    return exit_code


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
