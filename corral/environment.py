"""Reads the settings of a process from its environment, and says what is wrong with them by the variables' names.

A secret may stand in a file: `CORRAL_JOIN_TOKEN_FILE` then names the file that contains what `CORRAL_JOIN_TOKEN` would
hold. That is how containers get their secrets, and what an environment holds is seen by more eyes than a file.
"""

import os
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import SecretStr, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsError

Settings = TypeVar("Settings", bound=BaseSettings)

#: A secret is a line; whoever names a larger file has named another one.
MAX_SECRET_BYTES = 64 * 1024


class SettingsInvalid(Exception):
    """Correct the environment variables that the message names."""


def settings_from_environment(kind: type[Settings]) -> Settings:
    """Settings of this kind, all from environment variables; secret ones also from files that variables name.

    Raises:
        SettingsInvalid: a variable is missing or wrong; the message names each, and never shows a value.
    """
    secrets = _secrets_from_files(kind)
    try:
        return kind(**secrets)
    except ValidationError as error:
        lines = [f"{_variable(kind, one['loc'])}: {_words(kind, one)}" for one in error.errors()]
        raise SettingsInvalid("\n".join(lines)) from None
    except SettingsError as error:
        # Its cause, which shows the value, stays out.
        name = str(error).partition('"')[2].partition('"')[0]
        raise SettingsInvalid(f"{_variable(kind, (name,))}: is not JSON") from None


def secret_from_file(variable: str) -> str | None:
    """What the file holds that `<variable>_FILE` names, without the space around it; None where no file is named.

    Raises:
        SettingsInvalid: the variable itself is set too, or the file cannot be read, is empty, or is no text.
    """
    name = f"{variable}_FILE"
    path = os.environ.get(name)
    if not path:
        return None
    if os.environ.get(variable):
        raise SettingsInvalid(f"{name}: {variable} is set too; set one of them")
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_SECRET_BYTES + 1)
        text = content.decode().strip()
    except (OSError, ValueError) as trouble:
        # The words of a decoding error would show a byte of the secret.
        why = trouble.strerror if isinstance(trouble, OSError) else "it is not UTF-8 text"
        raise SettingsInvalid(f"{name}: {path} cannot be read: {why}") from None
    if not text:
        raise SettingsInvalid(f"{name}: {path} is empty")
    if len(content) > MAX_SECRET_BYTES:
        raise SettingsInvalid(f"{name}: {path} is larger than {MAX_SECRET_BYTES // 1024} KiB, which no secret is")
    return text


def _secrets_from_files(kind: type[BaseSettings]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        if field.annotation is SecretStr or SecretStr in get_args(field.annotation):
            key = str(field.validation_alias or name)
            if (secret := secret_from_file(_variable(kind, (key,)))) is not None:
                found[key] = secret
    return found


def _variable(kind: type[BaseSettings], location: tuple[str | int, ...]) -> str:
    name, *inside = map(str, location)
    # A setting with an alias is reported by that: the whole name of its variable.
    variable = name if name.isupper() else f"{kind.model_config.get('env_prefix', '')}{name.upper()}"
    return ".".join([variable, *inside])


def _words(kind: type[BaseSettings], problem: ErrorDetails) -> str:
    if problem["type"] == "missing":
        # Reported by its alias where it has one.
        named = {field.validation_alias or name: field for name, field in kind.model_fields.items()}
        return f"is not set. {named[str(problem['loc'][0])].description}"
    # Pydantic puts its own words before those of a validator; the validator's say it all.
    return problem["msg"].removeprefix("Value error, ")
