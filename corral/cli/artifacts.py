"""`corral artifacts`: what the runs of a task left behind."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from corral.cli.connection import connect
from corral.cli.failures import CommandFailed, WrongUsage
from corral.cli.options import Json, TaskId
from corral.cli.output import plain, print_json, print_table, stderr
from corral.cli.words import size
from corral.contract.history import ArtifactList, ArtifactView


def artifacts(
    context: typer.Context,
    task_id: TaskId,
    to: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Save all of them there, as ATTEMPT-NAME.", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="With --to: replace files that are there.")] = False,
    as_json: Json = False,
) -> None:
    """List the files that a task left behind, such as screenshots, or save them."""
    with connect(context) as corral:
        found = corral.artifacts(task_id)
        if to is not None:
            files = _files(found, to)
            _make_room(to, files.values(), may_replace=force)
            for (attempt, name), file in files.items():
                _save(corral.download_artifact(task_id, name, attempt=attempt), file, may_replace=force)
    if as_json:
        print_json(ArtifactList(artifacts=list(found)))
        return
    columns = ("ATTEMPT", "NAME", "TYPE", "SIZE", "")
    print_table(columns, map(_row, found), empty="The task left no artifacts.", unfolded=("ATTEMPT", "SIZE"))
    if to is not None and found:
        stderr().print(plain(f"Saved in {to}: {len(found)}"))


def _row(artifact: ArtifactView) -> tuple[str, ...]:
    late = "late: came after the run had lost its lease" if artifact.is_late else ""
    return (str(artifact.attempt), artifact.name, artifact.media_type, size(artifact.size_bytes), late)


def _files(found: Iterable[ArtifactView], folder: Path) -> dict[tuple[int, str], Path]:
    for artifact in found:
        # The contract has it so; a server that breaks it must not choose where we write.
        if Path(artifact.name).name != artifact.name:
            raise CommandFailed(f"the API lists an artifact '{artifact.name}', which is no name of a file")
    return {(one.attempt, one.name): folder / f"{one.attempt}-{one.name}" for one in found}


def _make_room(folder: Path, files: Iterable[Path], *, may_replace: bool) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as trouble:
        raise WrongUsage(f"--to {folder}: cannot be made a folder: {trouble.strerror}") from None
    there = [file.name for file in files if file.exists()]
    if there and not may_replace:
        raise _in_the_way(folder, there)


def _save(content: bytes, file: Path, *, may_replace: bool) -> None:
    try:
        with file.open("wb" if may_replace else "xb") as opened:
            opened.write(content)
    except FileExistsError:
        raise _in_the_way(file.parent, [file.name]) from None
    except OSError as trouble:
        raise CommandFailed(f"{file} cannot be written: {trouble.strerror}") from None


def _in_the_way(folder: Path, names: list[str]) -> WrongUsage:
    return WrongUsage(f"--to {folder}: {', '.join(names)} is there already; name another folder, or add --force")
