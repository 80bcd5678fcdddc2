"""Reads the settings of a process from its environment, and says what is wrong with them by the variables' names."""

from typing import TypeVar

from pydantic import ValidationError
from pydantic_settings import BaseSettings, SettingsError

Settings = TypeVar("Settings", bound=BaseSettings)


class SettingsInvalid(Exception):
    """Correct the environment variables that the message names."""


def settings_from_environment(kind: type[Settings]) -> Settings:
    """Settings of this kind, all from environment variables.

    Raises:
        SettingsInvalid: a variable is missing or wrong; the message names each, and never shows a value.
    """
    try:
        return kind()
    except ValidationError as error:
        lines = [f"{_variable(kind, one['loc'])}: {_words(one['msg'])}" for one in error.errors()]
        raise SettingsInvalid("\n".join(lines)) from None
    except SettingsError as error:
        # Its cause, which shows the value, stays out.
        name = str(error).partition('"')[2].partition('"')[0]
        raise SettingsInvalid(f"{_variable(kind, (name,))}: is not JSON") from None


def _variable(kind: type[BaseSettings], location: tuple[str | int, ...]) -> str:
    name, *inside = map(str, location)
    # A setting with an alias is reported by that: the whole name of its variable.
    variable = name if name.isupper() else f"{kind.model_config.get('env_prefix', '')}{name.upper()}"
    return ".".join([variable, *inside])


def _words(message: str) -> str:
    # Pydantic puts its own words before those of a validator; the validator's say it all.
    return message.removeprefix("Value error, ")
