"""Options that many commands have, and how `KEY=VALUE` is read."""

from collections.abc import Iterable
from typing import Annotated
from uuid import UUID

import typer

from corral.cli.failures import WrongUsage

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and errors as problem documents.")]
TaskId = Annotated[UUID, typer.Argument(metavar="TASK_ID", show_default=False)]
WaitLimit = Annotated[
    float | None, typer.Option("--wait-limit", metavar="SECONDS", help="Wait no longer than this; the task goes on.")
]


def pairs(texts: Iterable[str], *, option: str) -> dict[str, str]:
    """`["a=1", "b=2"]` as a mapping. Raises `WrongUsage` for what is no pair."""
    found: dict[str, str] = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator or not key:
            raise WrongUsage(f"{option} {text}: write it as KEY=VALUE")
        found[key] = value
    return found
