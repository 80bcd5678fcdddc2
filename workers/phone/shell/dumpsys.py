"""`dumpsys`: what clients read about the battery, windows, activities, the display and packages."""

from collections.abc import Callable

from workers.phone.app import keyboard, launcher, metrics
from workers.phone.shell.call import Call, Command

_USER_PACKAGE_FLAGS = "HAS_CODE ALLOW_CLEAR_USER_DATA ALLOW_BACKUP"


async def dumpsys(call: Call) -> int:
    if call.arguments[:1] in {(), ("-l",)}:
        call.print("Currently running services:")
        for name in sorted(_SERVICES):
            call.print(f"  {name}")
        return 0
    report = _SERVICES.get(call.arguments[0])
    if report is None:
        return call.fail(f"Can't find service: {call.arguments[0]}")
    return report(call) or 0


def _battery(call: Call) -> int | None:
    battery = call.phone.battery
    match call.arguments[1:]:
        case ():
            pass
        case ("set", "level", level) if level.isdecimal() and int(level) <= 100:  # noqa: PLR2004 - percent
            battery.level_percent = int(level)
            return 0
        case ("set", "temp", tenths) if tenths.lstrip("-").isdecimal():
            battery.temperature_tenths_c = int(tenths)
            return 0
        case ("unplug",) | ("reset",):
            battery.is_charging = call.arguments[1] == "reset"
            return 0
        case _:
            return call.fail("dumpsys battery: use set level PERCENT, set temp TENTHS, unplug or reset")
    call.print(
        f"""Current Battery Service state:
  AC powered: false
  USB powered: {str(battery.is_charging).lower()}
  Wireless powered: false
  Dock powered: false
  Max charging current: 500000
  Max charging voltage: 5000000
  Charge counter: {battery.level_percent * 40000}
  status: {2 if battery.is_charging else 3}
  health: 2
  present: true
  level: {battery.level_percent}
  scale: 100
  voltage: 4123
  temperature: {battery.temperature_tenths_c}
  technology: Li-ion"""
    )
    return None


def _front(call: Call) -> tuple[str, str]:
    app = call.phone.display.front
    return (app.description.package, app.description.full_activity) if app else (launcher.PACKAGE, launcher.ACTIVITY)


def _window(call: Call) -> None:
    package, activity = _front(call)
    focus = f"Window{{3f2a1b7 u0 {package}/{activity}}}" if call.phone.display.is_on else "null"
    call.print(
        f"""WINDOW MANAGER WINDOWS (dumpsys window windows)
  mCurrentFocus={focus}
  mFocusedApp=ActivityRecord{{5c7d21e u0 {package}/{_short(package, activity)} t12}}
  mHasSurface=true isReadyForDisplay()=true"""
    )


def _activity(call: Call) -> None:
    package, activity = _front(call)
    name = f"{package}/{_short(package, activity)}"
    if "top" in call.arguments[1:]:
        call.print(f"TASK {package} id=12 userId=0\n  ACTIVITY {name} 5c7d21e pid={1000 + len(package)}")
        return
    record = f"ActivityRecord{{5c7d21e u0 {name} t12}}"
    call.print(
        f"""ACTIVITY MANAGER ACTIVITIES (dumpsys activity activities)
    mResumedActivity: {record}
  topResumedActivity={record}
  ResumedActivity: {record}"""
    )


def _short(package: str, activity: str) -> str:
    return activity.removeprefix(package) if activity.startswith(package + ".") else activity


def _display(call: Call) -> None:
    width, height = metrics.DISPLAY_WIDTH_PX, metrics.DISPLAY_HEIGHT_PX
    state = "ON" if call.phone.display.is_on else "OFF"
    call.print(
        f"""DISPLAY MANAGER (dumpsys display)
  mViewports=[DisplayViewport{{type=INTERNAL, valid=true, isActive=true, displayId=0, uniqueId='local:0', \
physicalPort=0, orientation=0, logicalFrame=Rect(0, 0 - {width}, {height}), \
physicalFrame=Rect(0, 0 - {width}, {height}), deviceWidth={width}, deviceHeight={height}}}]
  mState={state}"""
    )


def _power(call: Call) -> None:
    is_on = call.phone.display.is_on
    call.print(
        f"""POWER MANAGER (dumpsys power)
  mWakefulness={"Awake" if is_on else "Asleep"}
  mHoldingDisplaySuspendBlocker={str(is_on).lower()}"""
    )


def _input_method(call: Call) -> None:
    call.print(
        f"""Current Input Method Manager state:
  mCurMethodId={keyboard.COMPONENT}
  mInputShown={str(call.phone.display.is_keyboard_shown).lower()}"""
    )


def _package(call: Call) -> int | None:
    installed = call.phone.display.installed.get("".join(call.arguments[1:2]))
    if installed is None:
        call.print(f"Unable to find package: {''.join(call.arguments[1:2])}")
        return None
    app = installed.description
    call.print(
        f"""Packages:
  Package [{app.package}] (5c7d21e):
    versionCode=1 minSdk=24 targetSdk=35
    versionName={app.version}
    pkgFlags=[ {_USER_PACKAGE_FLAGS} ]
    firstInstallTime=2024-01-01 12:00:00
    lastUpdateTime=2024-01-01 12:00:00
    signatures=PackageSignatures{{a1b2c3d version:3, signatures:[4d5e6f70], past signatures:[]}}"""
    )
    return None


def _surface_flinger(call: Call) -> None:
    call.print('Display 4619827259835644672 (HWC display 0): port=0 pnpId=COR displayName="Built-in Screen"')


_SERVICES: dict[str, Callable[[Call], int | None]] = {
    "SurfaceFlinger": _surface_flinger,
    "activity": _activity,
    "battery": _battery,
    "display": _display,
    "input_method": _input_method,
    "package": _package,
    "power": _power,
    "window": _window,
}


COMMANDS: dict[str, Command] = {
    "dumpsys": dumpsys,
}
