"""`pm`, and `cmd`, which is another door to the same services."""

from workers.phone.shell.activity_manager import am
from workers.phone.shell.call import Call, Command
from workers.phone.shell.input_events import input_event
from workers.phone.shell.properties import settings

_NO_INSTALLS = (
    "Failure [INSTALL_FAILED_INVALID_APK: an emulated phone runs apps that are described in YAML "
    "and given to it when it is started]"
)
_SYSTEM_PACKAGES = (
    "android",
    "com.android.settings",
    "com.google.android.apps.nexuslauncher",
    "com.google.android.inputmethod.latin",
)


async def pm(call: Call) -> int:  # noqa: PLR0911 - one answer for each case
    installed = call.phone.display.installed
    match call.arguments:
        case ("list", "packages", *options):
            _list_packages(call, options)
        case ("path", package) if package in installed:
            call.print(f"package:/data/app/{package}/base.apk")
        case ("path", package):
            return 1
        case ("clear", *_, package) if package in installed:
            call.phone.display.clear_app(package)
            call.print("Success")
        case ("clear", *_):
            call.print("Failed")
            return 1
        case ("grant" | "revoke", package, *_) if package in installed:
            pass
        case ("grant" | "revoke", package, *_):
            return call.fail(f"java.lang.IllegalArgumentException: Unknown package: {package}", exit_code=255)
        case ("install" | "install-create" | "uninstall", *_):
            return call.fail(_NO_INSTALLS)
        case ("resolve-activity", *words):
            return _resolve(call, words)
        case _:
            return call.fail(
                f"Unknown command: {' '.join(call.arguments)!r}; this phone knows "
                "pm list packages, path, clear, grant, revoke and resolve-activity",
                exit_code=255,
            )
    return 0


def _list_packages(call: Call, options: list[str]) -> None:
    own = sorted(call.phone.display.installed)
    packages = own if "-3" in options else list(_SYSTEM_PACKAGES) if "-s" in options else [*_SYSTEM_PACKAGES, *own]
    wanted = [word for word in options if not word.startswith("-")]
    for package in packages:
        if not wanted or wanted[-1] in package:
            path = f"/data/app/{package}/base.apk=" if "-f" in options else ""
            call.print(f"package:{path}{package}")


def _resolve(call: Call, words: list[str]) -> int:
    installed = call.phone.display.installed.get(words[-1]) if words else None
    if installed is None:
        call.print("No activity found")
        return 0
    call.print("priority=0 preferredOrder=0 match=0x108000 specificIndex=-1 isDefault=true")
    call.print(installed.description.component if "--brief" in words else f"name={installed.description.full_activity}")
    return 0


_BEHIND_CMD: dict[str, Command] = {"package": pm, "activity": am, "input": input_event, "settings": settings}


async def cmd(call: Call) -> int:
    match call.arguments:
        case (service, *_) if service in _BEHIND_CMD:
            call.argv = call.argv[1:]
            return await _BEHIND_CMD[service](call)
        case ("display", "get-displays"):
            call.print('Displays:\nDisplay id 0: DisplayInfo{"Built-in Screen", displayId 0, state ON}')
            return 0
        case ("-l",):
            for service in sorted([*_BEHIND_CMD, "display"]):
                call.print(f"  {service}")
            return 0
        case (service, *_):
            return call.fail(f"cmd: Can't find service: {service}", exit_code=20)
        case _:
            return call.fail("cmd: No service specified; use -l to list all services", exit_code=20)


COMMANDS: dict[str, Command] = {
    "pm": pm,
    "cmd": cmd,
}
