"""Finds the files that a flow on this machine includes, so that they can be submitted with it."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from corral.cli.failures import WrongUsage
from corral.flow.errors import FlowError
from corral.flow.yaml_tree import ListNode, MapNode, Node, ScalarNode, read_documents

_INCLUDING_COMMANDS = frozenset({"runFlow", "retry"})


@dataclass(frozen=True, slots=True)
class LocalFlow:
    """A flow as it stands on disk, with all that it includes by path relative to its folder."""

    source: str
    files: dict[str, str]
    name: str | None


def read_flow(file: Path) -> LocalFlow:
    """Read a flow and, again and again, what it includes.

    A file that is no valid flow is sent as it is: the API says best what is wrong with it.

    Raises:
        WrongUsage: a file is missing, is no text, or lies outside of the flow's folder.
    """
    source = read_text(file, named=str(file))
    files: dict[str, str] = {}
    waiting = [(path, file.name) for path in _included(source, file.name, folder=PurePosixPath())]
    while waiting:
        path, included_by = waiting.pop()
        if path in files:
            continue
        if path.startswith(("../", "/")):
            raise WrongUsage(f"{included_by} includes {path}, which lies outside of {file.parent}")
        files[path] = read_text(file.parent / path, named=f"{path}, included by {included_by},")
        folder = PurePosixPath(path).parent
        waiting += [(inner, path) for inner in _included(files[path], path, folder=folder)]
    return LocalFlow(source, files, name=None if _has_name(source) else file.stem)


def read_text(file: Path, *, named: str) -> str:
    """The text of a file that the command line names. Raises `WrongUsage`."""
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise WrongUsage(f"there is no file {named}") from None
    except IsADirectoryError:
        raise WrongUsage(f"{named} is a folder; name a file") from None
    except UnicodeDecodeError as trouble:
        raise WrongUsage(f"{named} is not UTF-8 text: {trouble.reason} at byte {trouble.start}") from None
    except OSError as trouble:
        raise WrongUsage(f"{named} cannot be read: {trouble.strerror}") from None


def _included(source: str, name: str, *, folder: PurePosixPath) -> Iterator[str]:
    for document in _documents(source, name):
        for included in _walk(document):
            # A path with a variable is known at submit, not here.
            if "${" not in included:
                yield posixpath.normpath(folder / included)


def _documents(source: str, name: str) -> list[Node]:
    try:
        return read_documents(source, file=name)
    except FlowError:
        return []


def _walk(root: Node) -> Iterator[str]:
    waiting = [root]
    while waiting:
        match waiting.pop():
            case ListNode(items=items):
                waiting += items
            case MapNode(entries=entries):
                waiting += entries.values()
                for command in _INCLUDING_COMMANDS & entries.keys():
                    yield from _file_of(entries[command])
            case ScalarNode():
                pass


def _file_of(value: Node) -> Iterator[str]:
    """`runFlow: login.yaml`, or `runFlow: {file: login.yaml}`."""
    match value:
        case ScalarNode(text=text, is_null=False):
            yield text
        case MapNode(entries={"file": ScalarNode(text=text, is_null=False)}):
            yield text
        case _:
            return


def _has_name(source: str) -> bool:
    match _documents(source, "flow.yaml"):
        case [MapNode(entries=entries), *_]:
            return "name" in entries
        case _:
            return False
