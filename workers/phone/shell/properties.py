"""Facts about the phone: getprop, settings, wm, ime, svc."""

from workers.phone.app import keyboard, metrics
from workers.phone.shell.call import Call, Command


async def getprop(call: Call) -> int:
    properties = call.phone.properties
    if call.arguments:
        name, *default = call.arguments
        call.print(properties.get(name, "".join(default)))
        return 0
    for name, value in sorted(properties.items()):
        call.print(f"[{name}]: [{value}]")
    return 0


async def settings(call: Call) -> int:
    match call.arguments:
        case ("get", ("system" | "secure" | "global") as space, key):
            call.print(call.phone.settings.get((space, key), "null"))
        case ("put", ("system" | "secure" | "global") as space, key, value, *_):
            call.phone.settings[space, key] = value
        case ("delete", ("system" | "secure" | "global") as space, key):
            deleted = call.phone.settings.pop((space, key), None)
            call.print(f"Deleted {0 if deleted is None else 1} rows")
        case ("list", ("system" | "secure" | "global") as space):
            for (_, key), value in sorted(item for item in call.phone.settings.items() if item[0][0] == space):
                call.print(f"{key}={value}")
        case _:
            return call.fail("Invalid command: use settings get|put|delete|list system|secure|global [KEY [VALUE]]")
    return 0


async def wm(call: Call) -> int:
    match call.arguments:
        case ("size",):
            call.print(f"Physical size: {metrics.DISPLAY_WIDTH_PX}x{metrics.DISPLAY_HEIGHT_PX}")
        case ("density",):
            call.print(f"Physical density: {metrics.DENSITY_DPI}")
        case _:
            return call.fail(f"unknown command {' '.join(call.arguments)!r}: this phone answers wm size and wm density")
    return 0


async def svc(call: Call) -> int:
    match call.arguments:
        case ("wifi" | "data" | "power" as what, value, *_):
            call.phone.settings["global", f"{what}_on"] = "1" if value == "enable" else "0"
            return 0
        case _:
            return call.fail("svc: use svc wifi|data enable|disable")


async def ime(call: Call) -> int:
    match call.arguments:
        case ("list", *flags):
            call.print(keyboard.COMPONENT if "-s" in flags else f"mId={keyboard.COMPONENT} mSettingsActivityName=null")
            return 0
        case ("set" | "enable" as verb, keyboard.COMPONENT):
            call.print(
                f"Input method {keyboard.COMPONENT} {'selected' if verb == 'set' else 'now enabled'} for user #0"
            )
            return 0
        case ("set" | "enable" as verb, other):
            return call.fail(
                f"Unknown input method {other} cannot be {'selected' if verb == 'set' else 'enabled'} for user #0",
                exit_code=255,
            )
        case _:
            return call.fail("ime: use ime list [-s] [-a], ime enable ID, ime set ID", exit_code=255)


COMMANDS: dict[str, Command] = {
    "getprop": getprop,
    "settings": settings,
    "wm": wm,
    "svc": svc,
    "ime": ime,
}
