"""`am` and `monkey`: starting and stopping apps."""

from dataclasses import dataclass, field

from workers.phone.shell.call import Call, Command
from workers.phone.strike import ConnectionCut

_WITH_VALUE = frozenset({"-n", "-a", "-c", "-d", "-p", "-f", "-t", "--user", "--display", "--windowingMode", "-R"})
_WITH_TWO_VALUES = frozenset({"--es", "--ez", "--ei", "--el", "--ef", "-e", "--eu", "--esa", "--ecn"})
_NO_ACTIVITIES = 252


@dataclass(slots=True)
class _Intent:
    options: dict[str, str] = field(default_factory=dict[str, str])
    flags: set[str] = field(default_factory=set[str])
    words: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        names = {"-a": "act", "-c": "cat", "-d": "dat", "-n": "cmp", "-p": "pkg"}
        parts = [
            f"{short}={f'[{self.options[flag]}]' if flag == '-c' else self.options[flag]}"
            for flag, short in names.items()
            if flag in self.options
        ]
        return f"Intent {{ {' '.join(parts + [f'pkg={word}' for word in self.words])} }}"


def _intent(words: tuple[str, ...]) -> _Intent:
    intent, rest = _Intent(), list(words)
    while rest:
        word = rest.pop(0)
        if word in _WITH_VALUE and rest:
            intent.options[word] = rest.pop(0)
        elif word in _WITH_TWO_VALUES:
            del rest[:2]
        elif word.startswith("-"):
            intent.flags.add(word)
        else:
            intent.words.append(word)
    return intent


async def am(call: Call) -> int:
    verb, words = call.arguments[:1], call.arguments[1:]
    match verb:
        case ("start" | "start-activity",):
            return _start(call, _intent(words))
        case ("force-stop",) if targets := _intent(words).words:
            call.phone.display.stop_app(targets[0])
            return 0
        case ("kill",) if targets := _intent(words).words:
            _kill(call, targets[0])
            return 0
        case ("broadcast",):
            call.print(f"Broadcasting: {_intent(words)}\nBroadcast completed: result=0")
            return 0
        case ("get-current-user",):
            call.print("0")
            return 0
        case _:
            return call.fail(
                f"Unknown command: {' '.join(call.arguments)!r}; this phone knows "
                "am start, force-stop, kill, broadcast and get-current-user",
                exit_code=255,
            )


def _kill(call: Call, package: str) -> None:
    """Kills background processes only, as Android does; the app on the display stays."""
    front = call.phone.display.front
    if front is None or front.description.package != package:
        call.phone.display.stop_app(package)


def _start(call: Call, intent: _Intent) -> int:
    call.print(f"Starting: {intent}")
    display, link = call.phone.display, intent.options.get("-d", "")
    component = intent.options.get("-n", "")
    package = component.partition("/")[0] or intent.options.get("-p", "") or "".join(intent.words[:1])
    if component:
        installed = display.installed.get(package)
        activity = component.partition("/")[2]
        full = package + activity if activity.startswith(".") else activity
        if installed is None or full != installed.description.full_activity:
            return call.fail(f"Error type 3\nError: Activity class {{{package}/{full}}} does not exist.")
    elif link and not package:
        package = next(
            (
                name
                for name, installed in display.installed.items()
                if any(link.startswith(prefix) for prefix in installed.description.links)
            ),
            "",
        )
    if package not in display.installed:
        return call.fail(f"Error: Activity not started, unable to resolve {intent}")
    if "-S" in intent.flags:
        call.print(f"Stopping: {package}")
        display.stop_app(package)
    if display.front is not None and display.front.description.package == package and not link:
        call.print("Warning: Activity not started, intent has been delivered to currently running top-most instance.")
    display.start_app(package, link=link)
    if "-W" in intent.flags:
        name = display.installed[package].description.component
        call.print(f"Status: ok\nLaunchState: COLD\nActivity: {name}\nTotalTime: 120\nWaitTime: 125\nComplete")
    return 0


async def monkey(call: Call) -> int:
    """Only what launches an app: `monkey -p PACKAGE -c android.intent.category.LAUNCHER 1`."""
    call.print(f"  bash arg: {' '.join(call.arguments)}")
    package = _intent(call.arguments).options.get("-p", "")
    if package not in call.phone.display.installed:
        call.print("** No activities found to run, monkey aborted.")
        return _NO_ACTIVITIES
    call.phone.display.start_app(package)
    call.print("Events injected: 1\n## Network stats: elapsed time=12ms (0ms mobile, 0ms wifi, 12ms not connected)")
    return 0


async def reboot(call: Call) -> int:
    """Apps end and every connection is cut; the phone is back at once."""
    call.phone.reboot()
    raise ConnectionCut


COMMANDS: dict[str, Command] = {
    "am": am,
    "monkey": monkey,
    "reboot": reboot,
}
