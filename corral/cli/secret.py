"""Secrets that commands take from the environment, or from a file that it names."""

import os

from corral.cli.failures import WrongUsage


def secret_of(variable: str) -> str:
    """The value of the variable or of the file that `<variable>_FILE` names; empty where neither is set.

    Raises:
        WrongUsage: both are set, or the file holds no secret.
    """
    if not os.environ.get(f"{variable}_FILE"):
        return os.environ.get(variable, "")
    # Slow to import.
    from corral.environment import SettingsInvalid, secret_from_file

    try:
        return secret_from_file(variable) or ""
    except SettingsInvalid as trouble:
        raise WrongUsage(str(trouble)) from None
