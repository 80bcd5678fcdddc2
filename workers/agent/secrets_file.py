"""Reading a file of secrets: a mapping of NAME to text, as TOML or JSON."""

import json
import stat
import tomllib
from pathlib import Path
from typing import Any, cast

import structlog

from workers.agent.task_secrets import InvalidSecret, check_secret

log = structlog.stdlib.get_logger()

_MAX_BYTES = 1024 * 1024


class SecretsUnreadable(Exception):
    """The file of secrets cannot be used; the message says why, and holds nothing of what is in it."""


def read_secrets_file(path: Path) -> dict[str, str]:
    """The secrets in a `.toml` or `.json` file. Warns if others than its owner may read it.

    Raises:
        SecretsUnreadable: it is not there, too long, broken, or holds what is no secret.
    """
    values = _parsed(path, _content(path))
    try:
        for name, value in values.items():
            check_secret(name, value)
    except InvalidSecret as invalid:
        raise SecretsUnreadable(f"{path}: {invalid}") from None
    return cast("dict[str, str]", values)


def _content(path: Path) -> str:
    try:
        with path.open("rb") as file:
            if stat.S_IMODE(path.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO):
                log.warning("secrets.readable_by_others", path=str(path), remedy="chmod 600")
            content = file.read(_MAX_BYTES + 1)
    except OSError as trouble:
        raise SecretsUnreadable(f"{path} cannot be read: {trouble.strerror}") from None
    if len(content) > _MAX_BYTES:
        raise SecretsUnreadable(f"{path} has more than {_MAX_BYTES} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SecretsUnreadable(f"{path} is not UTF-8") from None


def _parsed(path: Path, content: str) -> dict[str, Any]:
    # What the parsers say of an error quotes the content, so only its place is told.
    try:
        match path.suffix.lower():
            case ".toml":
                return tomllib.loads(content)
            case ".json":
                parsed: object = json.loads(content, object_pairs_hook=_without_repetition)
            case _:
                raise SecretsUnreadable(f"{path}: the name of a file of secrets ends in .toml or .json")
    except json.JSONDecodeError as broken:
        raise SecretsUnreadable(f"{path}: line {broken.lineno} is not JSON") from None
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        raise SecretsUnreadable(f"{path} is not valid {path.suffix[1:].upper()}") from None
    if not isinstance(parsed, dict):
        raise SecretsUnreadable(f"{path} holds a {type(parsed).__name__}, not a mapping of names to texts")
    return cast("dict[str, Any]", parsed)


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name is there twice")
    return dict(pairs)
