"""Keys and typing, whether they come from `input`, from the on-screen keyboard or from the edge of the phone."""

from workers.phone.app.nodes import TextField
from workers.phone.app.placed import Placed
from workers.phone.clock import monotonic_seconds
from workers.phone.display import Display


class Keypad:
    """The cursor is always behind the last letter."""

    def __init__(self, display: Display) -> None:
        self._display = display

    def press(self, key: str) -> None:
        """A key by what it stands for: a letter, or one of BACK, HOME, ENTER, DEL, TAB, POWER, SLEEP, WAKEUP, shift."""
        display = self._display
        match key:
            case "POWER":
                display.is_on = not display.is_on
            case "SLEEP" | "WAKEUP":
                display.is_on = key == "WAKEUP"
            case _ if not display.is_on:
                return
            case "shift":
                display.is_shifted = not display.is_shifted
            case "HOME":
                display.go_home()
            case _ if key in self._KEYS:
                self._KEYS[key](self)
            case _ if len(key) == 1:
                self.type_text(key)
                display.is_shifted = False
            case _:
                pass  # volume, media and the like change nothing that can be seen
        display.settle()

    def type_text(self, text: str) -> None:
        """Append to the field that has the focus; lost when none has, as on a phone."""
        app = self._display.front
        if app is not None and app.focus is not None and self._display.is_on:
            app.assign(app.focus, f"{app.values[app.focus]}{text}")

    def _back(self) -> None:
        """Hide the keyboard, else close a screen, else show the launcher."""
        display = self._display
        if display.is_keyboard_shown:
            display.is_keyboard_up = False
        elif display.front is not None and not display.front.leave_screen(now=monotonic_seconds()):
            display.go_home()

    def _delete(self) -> None:
        app = self._display.front
        if app is not None and app.focus is not None:
            app.assign(app.focus, str(app.values[app.focus])[:-1])

    def _enter(self) -> None:
        """A line break in a field of several lines; else what the field does on submit, and the keyboard goes."""
        app, placed = self._display.front, self._focused()
        if app is None or placed is None or not isinstance(placed.node, TextField):
            return
        if placed.node.multiline:
            self.type_text("\n")
            return
        self._display.is_keyboard_up = False
        app.happen(placed.node.submit, now=monotonic_seconds(), item=placed.item)

    def _tab(self) -> None:
        """The next field of the screen gets the focus."""
        app = self._display.front
        nodes = [placed.node for placed in self._display.frame().walk() if placed.is_enabled]
        fields = [node.bind for node in nodes if isinstance(node, TextField)]
        if app is not None and fields:
            after = fields.index(app.focus) + 1 if app.focus in fields else 0
            self._display.focus_on(fields[after % len(fields)])

    def _focused(self) -> Placed | None:
        return next((placed for placed in self._display.frame().walk() if placed.is_focused), None)

    _KEYS = {"BACK": _back, "DEL": _delete, "ENTER": _enter, "TAB": _tab}  # noqa: RUF012 - a table of methods
