"""Starting and stopping apps. Without `appId` the app of the flow's header is meant."""

import re
from typing import Any, ClassVar, Literal

from corral.flow.commands.flow_command import FlowCommand
from corral.flow.errors import InvalidCommand
from corral.flow.fields import Fields

_PACKAGE = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)+")
_MAX_PACKAGE_CHARACTERS = 255


def read_package(fields: Fields, name: str) -> str | None:
    """An Android package name; it goes into the phone's shell, so nothing else may pass."""
    package = fields.text(name)
    if package is not None and (len(package) > _MAX_PACKAGE_CHARACTERS or not _PACKAGE.fullmatch(package)):
        raise InvalidCommand(
            f"`{name}` is `{package[:60]}`", fields.place(name), allowed=("a package name such as com.example.app",)
        )
    return package


class AppCommand(FlowCommand):
    short_form: ClassVar[str | None] = "appId"

    #: None: the app of the header; the parser fills it in.
    app_id: str | None = None

    @classmethod
    def values(cls, fields: Fields) -> dict[str, Any]:
        return {"app_id": read_package(fields, "appId")}

    @property
    def subject(self) -> str:
        return self.app_id or ""


class LaunchApp(AppCommand):
    """Accepted and without effect, with a warning: `permissions`, `arguments`, `clearKeychain`."""

    command: Literal["launchApp"] = "launchApp"
    clear_state: bool = False
    stop_app: bool = True
    ignored_fields: tuple[str, ...] = ()

    @classmethod
    def values(cls, fields: Fields) -> dict[str, Any]:
        clear_keychain, stop_app = fields.flag("clearKeychain"), fields.flag("stopApp")
        ignored = ["clearKeychain"] if clear_keychain else []
        ignored += [name for name in ("permissions", "arguments") if fields.node(name) is not None]
        return super().values(fields) | {
            "clear_state": fields.flag("clearState") or False,
            "stop_app": True if stop_app is None else stop_app,
            "ignored_fields": tuple(ignored),
        }


class StopApp(AppCommand):
    command: Literal["stopApp"] = "stopApp"


class KillApp(AppCommand):
    command: Literal["killApp"] = "killApp"
