"""What is printed, and where: results on stdout, everything else on stderr, and with `--json` one document on each."""

import sys
from collections.abc import Collection, Iterable
from typing import Any

from pydantic import BaseModel
from rich.console import Console
from rich.table import Table
from rich.text import Text

from corral.contract.problems import Problem

#: A pipe has no width; lines that are cut or wrapped there are of no use to `grep`.
_WIDTH_OF_PIPE = 240


def stdout() -> Console:
    return _console(Console(highlight=False))


def stderr() -> Console:
    return _console(Console(stderr=True, highlight=False))


def print_json(document: BaseModel) -> None:
    """The one JSON document of a command."""
    print(document.model_dump_json(indent=2))


def plain(text: object) -> Text:
    """Text that came from elsewhere: no markup of ours, no control sequences of theirs."""
    shown = "" if text is None else str(text)
    return Text("".join(character if character.isprintable() or character in "\n\t" else "·" for character in shown))


def one_line(text: object) -> Text:
    """Text that ends with an ellipsis where a terminal is too narrow for it, instead of taking more lines."""
    shown = plain(text)
    shown.no_wrap, shown.overflow = True, "ellipsis"
    return shown


def print_table(
    columns: Iterable[str],
    rows: Iterable[Iterable[Text | str | None]],
    *,
    empty: str,
    unfolded: Collection[str] = (),
) -> None:
    """A table for people; `empty` is said where there are no rows. What people copy stands in `unfolded` columns."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(one_line(column), overflow="fold", no_wrap=column in unfolded)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else plain(cell) for cell in row))
    if table.row_count:
        stdout().print(table)
    else:
        stderr().print(plain(empty))


def show_problem(problem: Problem, *, as_json: bool) -> None:
    """The API's own account of what was wrong."""
    if as_json:
        print(problem.model_dump_json(exclude_none=True), file=sys.stderr)
        return
    console = stderr()
    console.print(Text.assemble((problem.title, "bold red"), ": ", plain(problem.detail)))
    for error in problem.errors:
        if len(problem.errors) == 1 and all(word in problem.detail for word in (error.message, *error.allowed)):
            # The detail has said it.
            continue
        allowed = f" (allowed: {', '.join(error.allowed)})" if error.allowed else ""
        console.print(Text.assemble("  ", (plain(error.location).plain, "cyan"), " ", plain(error.message + allowed)))


def problem_json(code: str, detail: str) -> dict[str, Any]:
    """A problem of the command itself, in the shape of the API's."""
    return {"type": f"urn:corral:problem:{code}", "title": code.replace("_", " "), "code": code, "detail": detail}


def _console(console: Console) -> Console:
    if not console.is_terminal:
        console.width = _WIDTH_OF_PIPE
    return console
