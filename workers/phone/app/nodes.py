"""The things that stand on a screen, one model for each kind."""

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, StrictBool

from workers.phone.app.effects import Conditions, Effects, Strict

_LENGTH = re.compile(r"-?\d+(\.\d+)?%")
_COLOUR = re.compile(r"#[0-9a-f]{6}")
COLOURS = {
    "green": "#2e9e5b",
    "red": "#d64545",
    "blue": "#3567d6",
    "amber": "#e8a317",
    "violet": "#7a4fd0",
    "grey": "#b8bec9",
    "light": "#eef1f6",
    "white": "#ffffff",
    "black": "#1b1f27",
}


def _length(value: int | str) -> int | str:
    if isinstance(value, str) and not _LENGTH.fullmatch(value):
        raise ValueError(f"{value!r} is no length: write pixels (240) or a share of the surrounding ('25%')")
    return value


def _colour(value: str) -> str:
    if value not in COLOURS and not _COLOUR.fullmatch(value):
        raise ValueError(f"{value!r} is no colour: write '#rrggbb' or one of {', '.join(COLOURS)}")
    return COLOURS.get(value, value)


Length = Annotated[int | str, AfterValidator(_length)]
Colour = Annotated[str, AfterValidator(_colour)]


class _Node(Strict):
    """What every kind may say.

    `place` (left, top, right, bottom) takes a node out of the flow and puts it there in its surrounding.
    """

    android_class: ClassVar[str]
    #: Clickable for Android even where the description says nothing of taps.
    takes_taps: ClassVar[bool] = False

    id: str = ""
    desc: str = ""
    class_: str = Field(default="", alias="class")
    place: tuple[Length, Length, Length, Length] | None = None
    height: Length | None = None
    width: Length | None = None
    colour: Colour | None = None
    when: Conditions = ()
    enabled: StrictBool | Conditions = True
    selected: StrictBool | Conditions = False
    for_each: tuple[str | int, ...] | Annotated[int, Field(ge=1, le=1000)] | None = None
    tap: Effects = ()
    long_press: Effects = ()
    double_tap: Effects = ()
    #: Happens when a finger is set down on the node or passes over it.
    touch: Effects = ()

    @property
    def is_clickable(self) -> bool:
        return self.takes_taps or bool(self.tap or self.double_tap)

    @property
    def label(self) -> str:
        return ""


class _Labelled(_Node):
    text: str

    @property
    def label(self) -> str:
        return self.text


class Text(_Labelled):
    android_class = "android.widget.TextView"
    kind: Literal["text"]
    size: Literal["small", "body", "large", "huge"] = "body"


class Button(_Labelled):
    android_class = "android.widget.Button"
    takes_taps = True
    kind: Literal["button"]


class Icon(_Node):
    """A round button with a sign instead of words; say in `desc` what it is."""

    android_class = "android.widget.ImageButton"
    takes_taps = True
    kind: Literal["icon"]
    sign: str = Field(max_length=3)


class TextField(_Node):
    """Holds what is typed in the variable `bind`."""

    android_class = "android.widget.EditText"
    takes_taps = True
    kind: Literal["field"]
    bind: str
    hint: str = ""
    password: bool = False
    multiline: bool = False
    #: Happens on Enter.
    submit: Effects = ()


class Toggleable(_Labelled):
    """A tap turns the true/false variable `bind` over, then does what `tap` says."""

    takes_taps = True
    bind: str


class Switch(Toggleable):
    android_class = "android.widget.Switch"
    kind: Literal["switch"]


class Checkbox(Toggleable):
    android_class = "android.widget.CheckBox"
    kind: Literal["checkbox"]


class Image(_Node):
    android_class = "android.widget.ImageView"
    kind: Literal["image"]


class Progress(_Node):
    android_class = "android.widget.ProgressBar"
    kind: Literal["progress"]


class _Container(_Node):
    nodes: tuple["Node", ...] = ()


class Box(_Container):
    """A surface; its nodes stand below each other, or where their `place` says."""

    android_class = "android.view.ViewGroup"
    kind: Literal["box"]


class Column(_Container):
    android_class = "android.widget.LinearLayout"
    kind: Literal["column"]


class Row(_Container):
    """Its nodes stand beside each other and share the width that is left by those with a `width`."""

    android_class = "android.widget.LinearLayout"
    kind: Literal["row"]


class Scroll(_Container):
    """A column that is taller inside than outside; it takes the height that is left on the screen."""

    android_class = "android.widget.ScrollView"
    kind: Literal["scroll"]


Node = Annotated[
    Text | Button | Icon | TextField | Switch | Checkbox | Image | Progress | Box | Column | Row | Scroll,
    Field(discriminator="kind"),
]

for _model in (Box, Column, Row, Scroll):
    _model.model_rebuild()


def children(node: Any) -> tuple[Node, ...]:
    """The nodes inside a node; none for what is no container."""
    return node.nodes if isinstance(node, _Container) else ()
