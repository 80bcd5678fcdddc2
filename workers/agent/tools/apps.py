"""Starting and stopping apps, and opening URLs."""

from pydantic import Field

from workers.agent.tools.device_call import DeviceCall
from workers.agent.tools.device_tool import DeviceTool
from workers.agent.tools.quoting import quoted
from workers.agent.tools.target import Flag
from workers.agent.tools.tool import Arguments
from workers.device import actions
from workers.device.link import MAX_URL_CHARACTERS

_Package = Field(max_length=200, description="The app's package, such as com.android.settings.")


class LaunchAppArguments(Arguments):
    package: str = _Package
    stop_first: Flag = Field(default=False, description="Stop the app before, so that it begins anew.")
    clear_state: Flag = Field(default=False, description="Delete all that the app has stored before.")


class StopAppArguments(Arguments):
    package: str = _Package


class OpenUrlArguments(Arguments):
    url: str = Field(max_length=MAX_URL_CHARACTERS, description="http, https, or the scheme of an app.")


class LaunchApp(DeviceTool[LaunchAppArguments]):
    name = "launch_app"
    description = "Bring an app to the foreground, and make sure that it is there."
    arguments = LaunchAppArguments

    async def act(self, arguments: LaunchAppArguments, call: DeviceCall) -> None:
        package = arguments.package
        action = actions.LaunchApp(package, clear_state=arguments.clear_state, stop_first=arguments.stop_first)
        await call.do(action, f"{package} is in the foreground")


class StopApp(DeviceTool[StopAppArguments]):
    name = "stop_app"
    description = "Stop an app."
    arguments = StopAppArguments

    async def act(self, arguments: StopAppArguments, call: DeviceCall) -> None:
        await call.do(actions.StopApp(arguments.package), f"stopped {arguments.package}")


class OpenUrl(DeviceTool[OpenUrlArguments]):
    name = "open_url"
    description = "Open a URL with the app that it belongs to."
    arguments = OpenUrlArguments

    async def act(self, arguments: OpenUrlArguments, call: DeviceCall) -> None:
        await call.do(actions.OpenUrl(arguments.url), f"handed {quoted(arguments.url)} to an app")
