"""What a window has around and in place of an app's own nodes."""

from workers.phone.app import metrics
from workers.phone.app.placed import Bounds, Placed


def title_bar(package: str, title: str, bar: Bounds, *, has_way_back: bool) -> Placed:
    """The bar with a screen's title; with an arrow when Back would lead to another screen."""
    parts: list[Placed] = []
    left = bar.left + metrics.PADDING_PX
    if has_way_back:
        arrow = Bounds(bar.left, bar.top, bar.left + metrics.TITLE_BAR_PX, bar.bottom)
        left = arrow.right
        parts.append(
            Placed(
                "android.widget.ImageButton",
                package,
                arrow,
                "up",
                desc="Navigate up",
                is_clickable=True,
                is_focusable=True,
                press="BACK",
            )
        )
    text = Bounds(left, bar.top + 40, bar.right - metrics.PADDING_PX, bar.bottom - 40)
    parts.append(Placed("android.widget.TextView", package, text, "title", text=title))
    return Placed("android.view.ViewGroup", package, bar, "title_bar", children=tuple(parts))


def loading(package: str, display: Bounds) -> Placed:
    """What a slow screen shows until it is there."""
    middle_x, middle_y = (display.left + display.right) // 2, (display.top + display.bottom) // 2
    bounds = Bounds(middle_x - 84, middle_y - 84, middle_x + 84, middle_y + 84)
    return Placed("android.widget.ProgressBar", package, bounds, "progress", desc="Loading")
