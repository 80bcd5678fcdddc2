"""How each kind of node looks."""

from PIL import Image, ImageDraw

from workers.phone.app import metrics
from workers.phone.app.placed import Bounds, Frame, Placed
from workers.phone.picture.strokes import ACCENT, FAINT, INK, LINE, PAPER, SOFT, Strokes, corners, font

_KEYBOARD, _KEY, _KEY_STRONG = "#e3e7ee", "#ffffff", "#c7cfdc"
_ICON_COLOURS = ("#3567d6", "#2e9e5b", "#d64545", "#7a4fd0", "#e8a317", "#12879b")
_CORNER_PX = 28


def paint(image: Image.Image, frame: Frame, status: str) -> None:
    """Draw a frame over a white image of the display's size."""
    painter = _Painter(ImageDraw.Draw(image))
    for root in frame.roots:
        painter.show(root)
    painter.bars(status, is_over_launcher=frame.roots[0].look == "launcher")
    if frame.toast:
        painter.toast(frame.toast)


class _Painter(Strokes):
    def show(self, node: Placed) -> None:
        getattr(self, f"_{node.look}", self._nothing)(node)
        for child in node.children:
            self.show(child)

    # The system's own

    def bars(self, status: str, *, is_over_launcher: bool) -> None:
        width, height = metrics.DISPLAY_WIDTH_PX, metrics.DISPLAY_HEIGHT_PX
        ink = PAPER if is_over_launcher else INK
        self.line(status, Bounds(48, 0, width // 2, metrics.STATUS_BAR_PX), ink, 34)
        self.draw.rounded_rectangle((width - 110, 26, width - 52, 58), 8, outline=ink, width=4)
        self.draw.rectangle((width - 102, 34, width - 68, 50), fill=ink)
        self.draw.rectangle((width - 50, 36, width - 44, 48), fill=ink)
        middle = width // 2
        self.draw.rounded_rectangle((middle - 160, height - 42, middle + 160, height - 30), 6, fill=ink)

    def toast(self, text: str) -> None:
        lines = metrics.wrapped(text, width_px=760, size_px=40)
        bottom = metrics.DISPLAY_HEIGHT_PX - 220
        bounds = Bounds(120, bottom - 60 - 54 * len(lines), metrics.DISPLAY_WIDTH_PX - 120, bottom)
        self.surface(bounds, "#323843", radius=bounds.height // 2 if len(lines) == 1 else _CORNER_PX)
        self.lines(lines, bounds, PAPER, 40)

    def _launcher(self, node: Placed) -> None:
        self.surface(node.bounds, "#24314f", radius=0)
        for number in range(6):
            left = 200 * number - 300
            self.draw.ellipse((left, 1500 + 90 * number, left + 900, 2700 + 90 * number), fill=f"#2{4 + number}3a5f")

    def _app_icon(self, node: Placed) -> None:
        bounds = node.bounds
        middle, top = (bounds.left + bounds.right) // 2, bounds.top + 30
        circle = Bounds(middle - 80, top, middle + 80, top + 160)
        colour = _ICON_COLOURS[sum(node.press.encode()) % len(_ICON_COLOURS)]
        self.surface(circle, colour, radius=80)
        self.line(node.text[:1].upper(), circle, PAPER, 84, is_centred=True)
        label = Bounds(bounds.left, circle.bottom + 12, bounds.right, bounds.bottom - 10)
        self.line(_shortened(node.text, 14), label, PAPER, 34, is_centred=True)

    def _keyboard(self, node: Placed) -> None:
        self.surface(node.bounds, _KEYBOARD, radius=0)

    def _key(self, node: Placed) -> None:
        is_strong = node.is_selected or len(node.press) > 1
        self.surface(node.bounds, _KEY_STRONG if is_strong else _KEY, radius=14)
        signs = {"shift": "Shift", "DEL": "Del", "ENTER": "Done", " ": "space"}
        label = signs.get(node.press, node.press)
        self.line(label, node.bounds, INK, 48 if len(label) == 1 else 32, is_centred=True)

    # The app's

    def _title_bar(self, node: Placed) -> None:
        self.surface(node.bounds, SOFT, radius=0)

    def _title(self, node: Placed) -> None:
        self.line(_shortened(node.text, 30), node.bounds, INK, 54)

    def _up(self, node: Placed) -> None:
        middle_x = (node.bounds.left + node.bounds.right) // 2
        middle_y = (node.bounds.top + node.bounds.bottom) // 2
        self.draw.line((middle_x + 28, middle_y, middle_x - 24, middle_y), fill=INK, width=6)
        self.draw.line(
            (middle_x, middle_y - 26, middle_x - 26, middle_y, middle_x, middle_y + 26),
            fill=INK,
            width=6,
            joint="curve",
        )

    def _text(self, node: Placed) -> None:
        size_px = metrics.TEXT_PX[node.size]
        lines = metrics.wrapped(node.text, width_px=node.bounds.width, size_px=size_px)
        self.lines(lines, node.bounds, self.ink(node, node.colour or INK), size_px, is_centred=False)

    def _button(self, node: Placed) -> None:
        self.surface(node.bounds, self.ink(node, node.colour or ACCENT), radius=node.bounds.height // 2)
        self.line(node.text, node.bounds, PAPER, 46, is_centred=True)

    def _icon(self, node: Placed) -> None:
        side = min(node.bounds.width, node.bounds.height)
        left = (node.bounds.left + node.bounds.right - side) // 2
        square = Bounds(left, node.bounds.top, left + side, node.bounds.top + side)
        self.surface(square, self.ink(node, node.colour or ACCENT), radius=side // 3)
        self.line(node.sign, square, PAPER, side // 2, is_centred=True)

    def _field(self, node: Placed) -> None:
        outline = ACCENT if node.is_focused else LINE
        self.draw.rounded_rectangle(corners(node.bounds), 20, fill=PAPER, outline=outline, width=5)
        inside = Bounds(node.bounds.left + 36, node.bounds.top, node.bounds.right - 36, node.bounds.bottom)
        is_empty = node.text == node.hint
        limit = max(1, inside.width // 25)
        shown = node.text if is_empty or len(node.text) <= limit else node.text[-limit:]
        self.line(shown, inside, FAINT if is_empty or not node.is_enabled else INK, 46)
        if node.is_focused:
            typed_px = 0 if is_empty else int(font(46).getlength(shown))
            middle = (inside.top + inside.bottom) // 2
            self.draw.rectangle(
                (inside.left + typed_px + 4, middle - 30, inside.left + typed_px + 8, middle + 30), ACCENT
            )

    def _switch(self, node: Placed) -> None:
        bounds, middle = node.bounds, (node.bounds.top + node.bounds.bottom) // 2
        self.line(node.text, bounds, self.ink(node, INK), 44)
        track = Bounds(bounds.right - 130, middle - 34, bounds.right, middle + 34)
        self.surface(track, self.ink(node, ACCENT if node.is_checked else LINE), radius=34)
        knob = track.right - 34 if node.is_checked else track.left + 34
        self.draw.ellipse((knob - 26, middle - 26, knob + 26, middle + 26), fill=PAPER)

    def _checkbox(self, node: Placed) -> None:
        bounds, middle = node.bounds, (node.bounds.top + node.bounds.bottom) // 2
        box = Bounds(bounds.left, middle - 30, bounds.left + 60, middle + 30)
        fill = self.ink(node, ACCENT) if node.is_checked else PAPER
        self.draw.rounded_rectangle(corners(box), 12, fill=fill, outline=self.ink(node, ACCENT), width=5)
        if node.is_checked:
            self.draw.line((box.left + 14, middle, box.left + 26, middle + 14, box.left + 48, middle - 16), PAPER, 7)
        self.line(node.text, Bounds(box.right + 30, bounds.top, bounds.right, bounds.bottom), self.ink(node, INK), 44)

    def _image(self, node: Placed) -> None:
        self.surface(node.bounds, node.colour or "#d7e3d4", radius=_CORNER_PX)
        bounds = node.bounds
        third = bounds.width // 3
        self.draw.polygon(
            (bounds.left + 30, bounds.bottom - 30, bounds.left + third, bounds.top + bounds.height // 3,
             bounds.left + 2 * third, bounds.bottom - 30),
            fill="#8fae88",
        )  # fmt: skip
        self.draw.ellipse((bounds.right - 130, bounds.top + 40, bounds.right - 50, bounds.top + 120), fill="#f0c75e")

    def _progress(self, node: Placed) -> None:
        middle = (node.bounds.left + node.bounds.right) // 2
        half = max(4, min(node.bounds.width, node.bounds.height) // 2 - 20)
        top = (node.bounds.top + node.bounds.bottom) // 2
        self.draw.arc((middle - half, top - half, middle + half, top + half), 300, 210, fill=ACCENT, width=12)

    def _box(self, node: Placed) -> None:
        if node.colour:
            self.surface(node.bounds, node.colour, radius=_CORNER_PX)
        else:
            self.draw.rounded_rectangle(corners(node.bounds), _CORNER_PX, fill="#f6f8fb", outline=LINE, width=3)

    def _row(self, node: Placed) -> None:
        if node.colour:
            self.surface(node.bounds, node.colour, radius=0)

    _column = _scroll = _row

    def _nothing(self, node: Placed) -> None:
        """Windows are white already."""


def _shortened(text: str, letters: int) -> str:
    return text if len(text) <= letters else text[: letters - 1] + "…"
