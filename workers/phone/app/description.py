"""An app as a file says it: screens, variables, what leads where. `load_app` is the way in."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, StringConstraints, ValidationError

from workers.phone.app.effects import Effects, Strict
from workers.phone.app.nodes import Length, Node
from workers.phone.app.words import Value

_MAX_FILE_BYTES = 1024 * 1024
BUILT_IN_APPS = Path(__file__).parent.parent / "apps"

Package = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+$")]
Variable = Annotated[str, StringConstraints(pattern=r"^[a-z_][a-z0-9_]*$")]
Region = tuple[Length, Length, Length, Length]


class AppDescriptionInvalid(Exception):
    """This file describes no app; each line of the text names the file, the field and what is wrong."""


class Swipe(Strict):
    """A swipe that starts in `from`, ends in `to` and moves in `finger`'s direction; each may be left out."""

    start: Region | None = Field(default=None, alias="from")
    end: Region | None = Field(default=None, alias="to")
    finger: Literal["up", "down", "left", "right"] | None = None
    effects: Effects = Field(alias="do")


class Screen(Strict):
    title: str = ""
    #: Screenshots of it are black, as of a banking app; the tree is served.
    secure: bool = False
    #: How long it shows only that it is loading.
    after_ms: int = Field(default=0, ge=0, le=600_000)
    nodes: tuple[Node, ...] = ()
    swipes: tuple[Swipe, ...] = ()
    #: Happens when the screen is opened.
    opened: Effects = ()
    #: Instead of leaving the screen.
    back: Effects = ()


class AppDescription(Strict):
    package: Package
    label: str = Field(min_length=1, max_length=40)
    version: str = "1.0"
    activity: str = ".MainActivity"
    start: str
    #: Variables that live as long as the app runs.
    state: dict[Variable, Value] = Field(default_factory=dict)
    #: Variables that also survive a stop of the app; clearing its data resets them.
    saved: dict[Variable, Value] = Field(default_factory=dict)
    screens: dict[str, Screen] = Field(min_length=1)
    #: Links (beginnings of URLs) and the screens that they open.
    links: dict[str, str] = Field(default_factory=dict)

    @property
    def component(self) -> str:
        """`package/activity`, as `am start -n` takes it."""
        return f"{self.package}/{self.activity}"

    @property
    def full_activity(self) -> str:
        return self.package + self.activity if self.activity.startswith(".") else self.activity


def load_app(path: Path) -> AppDescription:
    """Read and check a file.

    Raises:
        AppDescriptionInvalid: with every fault that was found.
    """
    from workers.phone.app.references import broken_references

    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise AppDescriptionInvalid(f"{path}: larger than {_MAX_FILE_BYTES} bytes")
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise AppDescriptionInvalid(f"{path}: {error}") from error
    if not isinstance(content, dict):
        raise AppDescriptionInvalid(f"{path}: expected fields such as package, label, start and screens")
    try:
        description = AppDescription.model_validate(content)
    except ValidationError as error:
        raise AppDescriptionInvalid("\n".join(_lines(path, error))) from error
    if broken := list(broken_references(description)):
        raise AppDescriptionInvalid("\n".join(f"{path}: {line}" for line in broken))
    return description


def load_apps(paths: list[Path]) -> list[AppDescription]:
    """Read files, and every `*.yaml` of folders.

    Raises:
        AppDescriptionInvalid: a file is wrong, or two describe the same package.
    """
    apps: dict[str, AppDescription] = {}
    for path in paths:
        for file in sorted(path.glob("*.yaml")) if path.is_dir() else [path]:
            app = load_app(file)
            if app.package in apps:
                raise AppDescriptionInvalid(f"{file}: package: {app.package} is described twice")
            apps[app.package] = app
    return list(apps.values())


def _lines(path: Path, error: ValidationError) -> Iterator[str]:
    for fault in error.errors(include_url=False):
        field = ".".join(str(part) for part in fault["loc"])
        yield f"{path}: {field}: {fault['msg']}"
