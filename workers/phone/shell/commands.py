"""All commands of the phone, by name. A new family is a file beside this one and a line here."""

from workers.phone.shell import (  # noqa: F401 - each registers its commands
    file_commands,
    plain,
    properties,
)
from workers.phone.shell.registry import COMMANDS as COMMANDS
