"""The launcher: the icons of the installed apps."""

from workers.phone.app import metrics
from workers.phone.app.description import AppDescription
from workers.phone.app.placed import Bounds, Frame, Placed

PACKAGE = "com.google.android.apps.nexuslauncher"
ACTIVITY = f"{PACKAGE}.NexusLauncherActivity"
_COLUMNS, _ROW_PX, _TOP_PX = 4, 300, 360


def launcher_frame(apps: list[AppDescription], display: Bounds) -> Frame:
    cell_px = (display.width - 2 * metrics.PADDING_PX) // _COLUMNS
    icons: list[Placed] = []
    for number, app in enumerate(apps):
        row, column = divmod(number, _COLUMNS)
        left, top = metrics.PADDING_PX + column * cell_px, _TOP_PX + row * _ROW_PX
        icons.append(_icon(app, Bounds(left, top, left + cell_px, top + _ROW_PX)))
    root = Placed(
        android_class="android.widget.FrameLayout",
        package=PACKAGE,
        bounds=display,
        look="launcher",
        resource_id=f"{PACKAGE}:id/launcher",
        children=tuple(icons),
    )
    return Frame(PACKAGE, ACTIVITY, (root,))


def _icon(app: AppDescription, bounds: Bounds) -> Placed:
    return Placed(
        android_class="android.widget.TextView",
        package=PACKAGE,
        bounds=bounds,
        look="app_icon",
        text=app.label,
        desc=app.label,
        is_clickable=True,
        is_focusable=True,
        press=app.package,
    )
