"""All commands of the phone, by name. A new family is a file beside this one and a line here."""

from workers.phone.shell import (
    activity_manager,
    dumpsys,
    fault_orders,
    file_commands,
    input_events,
    package_manager,
    plain,
    properties,
    screen,
)
from workers.phone.shell.call import Command

COMMANDS: dict[str, Command] = {
    **activity_manager.COMMANDS,
    **dumpsys.COMMANDS,
    **fault_orders.COMMANDS,
    **file_commands.COMMANDS,
    **input_events.COMMANDS,
    **package_manager.COMMANDS,
    **plain.COMMANDS,
    **properties.COMMANDS,
    **screen.COMMANDS,
}
