"""All commands of the phone, by name. A new family is a file beside this one and a line here."""

from workers.phone.shell import (  # noqa: F401 - each registers its commands
    activity_manager,
    dumpsys,
    file_commands,
    input_events,
    package_manager,
    plain,
    properties,
    screen,
)
from workers.phone.shell.registry import COMMANDS as COMMANDS
