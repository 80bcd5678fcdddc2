"""One life of an app: its variables, the screens that were opened, what is about to happen."""

from collections.abc import MutableMapping
from dataclasses import dataclass, field

from workers.phone.app import metrics
from workers.phone.app.description import AppDescription, Screen
from workers.phone.app.effects import Add, Assign, Back, Effect, Finish, Goto, Toast, Toggle
from workers.phone.app.layout import Layout
from workers.phone.app.placed import Bounds, Frame, Placed
from workers.phone.app.window import loading, title_bar
from workers.phone.app.words import Value, fill

TOAST_SECONDS = 2.0
#: Two effects that open each other's screens would go on for ever.
_MAX_SCREENS_DEEP = 50


@dataclass(slots=True)
class Visit:
    """One opened screen."""

    name: str
    opened_at: float
    scrolled_px: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(slots=True)
class _Pending:
    due_at: float
    effect: Effect
    item: str | int | None


class RunningApp:
    """`now` is monotonic seconds throughout; what is due has happened once `settle(now)` returns."""

    def __init__(self, description: AppDescription, saved: MutableMapping[str, Value], *, now: float) -> None:
        self.description = description
        self.focus: str | None = None
        self.is_finished = False
        self.toast = ""
        self._toast_until = 0.0
        self._state: dict[str, Value] = dict(description.state)
        self._saved = saved
        self._visits: list[Visit] = []
        self._pending: list[_Pending] = []
        self._last_seen: tuple[object, ...] = ()
        self._last_frame: Frame | None = None
        self.open_screen(description.start, now=now)

    @property
    def values(self) -> dict[str, Value]:
        return {**self._saved, **self._state}

    @property
    def visit(self) -> Visit:
        return self._visits[-1]

    @property
    def screen(self) -> Screen:
        return self.description.screens[self.visit.name]

    def assign(self, name: str, value: Value) -> None:
        (self._saved if name in self.description.saved else self._state)[name] = value

    def open_screen(self, name: str, *, now: float) -> None:
        """Open a screen above the present one. One that is already open is returned to instead."""
        self.focus = None
        open_names = [visit.name for visit in self._visits]
        if name in open_names:
            del self._visits[open_names.index(name) :]
        if len(self._visits) < _MAX_SCREENS_DEEP:
            self._visits.append(Visit(name, now))
            self.happen(self.description.screens[name].opened, now=now)

    def leave_screen(self, *, now: float) -> bool:
        """What the Back key does; False when there is nothing to go back to and the app gives way to the launcher."""
        if self.screen.back:
            self.happen(self.screen.back, now=now)
            return True
        if len(self._visits) == 1:
            return False
        self.focus = None
        self._visits.pop()
        return True

    def happen(self, effects: tuple[Effect, ...], *, now: float, item: str | int | None = None) -> None:
        """Let effects happen in order, those with a delay later."""
        for effect in effects:
            if effect.after_ms:
                self._pending.append(_Pending(now + effect.after_ms / 1000, effect, item))
            else:
                self._apply(effect, item, now=now)

    def settle(self, now: float) -> None:
        """Let everything happen that is due."""
        due = sorted(
            (pending for pending in self._pending if pending.due_at <= now), key=lambda pending: pending.due_at
        )
        self._pending = [pending for pending in self._pending if pending.due_at > now]
        for pending in due:
            self._apply(pending.effect, pending.item, now=now)
        if now >= self._toast_until:
            self.toast = ""

    def is_loading(self, now: float) -> bool:
        return now < self.visit.opened_at + self.screen.after_ms / 1000

    def _apply(self, effect: Effect, item: str | int | None, *, now: float) -> None:  # noqa: C901 - a case for each
        values = self.values if item is None else {**self.values, "item": item}
        if not all(condition.holds(values) for condition in effect.when):
            return
        match effect:
            case Goto():
                self.open_screen(effect.goto, now=now)
            case Back():
                self.is_finished = not self.leave_screen(now=now)
            case Finish():
                self.is_finished = True
            case Assign():
                for name, value in effect.assign.items():
                    self.assign(name, fill(value, values) if isinstance(value, str) else value)
            case Add():
                for name, amount in effect.add.items():
                    self.assign(name, int(values[name]) + amount)
            case Toggle():
                self.assign(effect.toggle, not values[effect.toggle])
            case Toast():
                self.toast, self._toast_until = fill(effect.toast, values), now + TOAST_SECONDS

    def frame(self, display: Bounds, *, now: float) -> Frame:
        """The app's window as it is now, without the keyboard. Laid out again only when something has changed."""
        visit = self.visit
        seen = (
            (*self.values.values(), visit.name, len(self._visits), self.focus, self.toast, self.is_loading(now)),
            tuple(visit.scrolled_px.items()),
        )
        if self._last_frame is None or self._last_seen != seen:
            self._last_seen, self._last_frame = seen, self._laid_out(display, now=now)
        return self._last_frame

    def _laid_out(self, display: Bounds, *, now: float) -> Frame:
        screen, package = self.screen, self.description.package
        values = self.values
        top = display.top + metrics.STATUS_BAR_PX
        parts: list[Placed] = []
        if screen.title:
            bar = Bounds(display.left, top, display.right, top + metrics.TITLE_BAR_PX)
            parts.append(title_bar(package, fill(screen.title, values), bar, has_way_back=len(self._visits) > 1))
            top = bar.bottom
        flow = Bounds(
            display.left + metrics.PADDING_PX,
            top + metrics.GAP_PX,
            display.right - metrics.PADDING_PX,
            display.bottom - metrics.NAVIGATION_BAR_PX - metrics.GAP_PX,
        )
        if self.is_loading(now):
            parts.append(loading(package, display))
        else:
            layout = Layout(package=package, values=values, focus=self.focus, scrolled_px=self.visit.scrolled_px)
            parts.extend(layout.screen(screen.nodes, flow=flow, display=display))
        root = Placed("android.widget.FrameLayout", package, display, "window", children=tuple(parts))
        return Frame(package, self.description.full_activity, (root,), is_secure=screen.secure, toast=self.toast)
