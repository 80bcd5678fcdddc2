"""`corral hosts`, `devices`, `drain`."""

from typing import Annotated
from uuid import UUID

import typer
from rich.text import Text

from corral.cli.connection import connect
from corral.cli.failures import WrongUsage
from corral.cli.options import Json
from corral.cli.output import plain, print_json, print_table, stdout
from corral.cli.words import age, labels
from corral.client import Corral
from corral.contract.fleet import DeviceList, DeviceView, HostList, HostView


def hosts(context: typer.Context, as_json: Json = False) -> None:
    """List the device hosts."""
    with connect(context) as corral:
        found = list(corral.hosts())
    if as_json:
        print_json(HostList(hosts=found))
        return
    rows = (
        (
            str(host.host_id),
            _host_state(host),
            host.name,
            str(host.devices),
            str(host.running),
            age(host.last_seen_at),
            host.version,
            labels(host.labels),
        )
        for host in found
    )
    columns = ("HOST", "STATE", "NAME", "DEVICES", "RUNNING", "SEEN", "VERSION", "LABELS")
    print_table(columns, rows, empty="There are no hosts.", unfolded=columns[:3])


def devices(context: typer.Context, as_json: Json = False) -> None:
    """List the devices of all hosts, and what can be done about those that are not ready."""
    with connect(context) as corral:
        found = list(corral.devices())
    if as_json:
        print_json(DeviceList(devices=found))
        return
    rows = (
        (
            device.serial,
            _device_state(device),
            device.model,
            device.android_version,
            None if device.battery_level is None else f"{device.battery_level} %",
            device.host_name,
            device.task_id and str(device.task_id),
            device.remedy,
        )
        for device in found
    )
    columns = ("DEVICE", "STATE", "MODEL", "ANDROID", "BATTERY", "HOST", "TASK", "")
    print_table(columns, rows, empty="There are no devices.")


def drain(
    context: typer.Context,
    host: Annotated[str, typer.Argument(metavar="HOST", help="Its id or its name.", show_default=False)],
    off: Annotated[bool, typer.Option("--off", help="End it: the host takes tasks again.")] = False,
    as_json: Json = False,
) -> None:
    """Have a host finish what it runs and take no more tasks."""
    with connect(context) as corral:
        drained = corral.drain(_host_id(corral, host), draining=not off)
    if as_json:
        print_json(drained)
    else:
        stdout().print(Text.assemble(plain(drained.name), " is ", _host_state(drained), f", running {drained.running}"))


def _host_id(corral: Corral, host: str) -> UUID:
    try:
        return UUID(host)
    except ValueError:
        pass
    known = list(corral.hosts())
    named = [view.host_id for view in known if view.name == host]
    if len(named) != 1:
        there_are = ", ".join(sorted(view.name for view in known)) or "none"
        trouble = f"{len(named)} hosts are" if named else "no host is"
        raise WrongUsage(f"{trouble} called '{host}'; give an id, or one of: {there_are}")
    return named[0]


def _host_state(host: HostView) -> Text:
    if not host.is_online:
        return Text("offline", "bold red")
    return Text("draining", "magenta") if host.is_draining else Text("online", "green")


def _device_state(device: DeviceView) -> Text:
    if device.task_id:
        return Text("busy", "bold blue")
    if device.is_online:
        return Text("ready", "green")
    return Text(device.state if device.state != "ready" else "host offline", "bold red")
