"""`corral hosts` and `hosts revoke`, `devices`, `drain`."""

from typing import Annotated

import typer
from rich.text import Text

from corral.cli.connection import connect
from corral.cli.exit_codes import HELP
from corral.cli.failures import WrongUsage
from corral.cli.help import Command, Group
from corral.cli.host_names import id_of_host
from corral.cli.options import Json
from corral.cli.output import one_line, plain, print_json, print_table, stdout
from corral.cli.words import age, labels
from corral.contract.fleet import DeviceList, DeviceView, HostList, HostView

#: A host is called by its name, so its id gives way where a terminal is too narrow for all of the line.
_WIDTH_WITH_IDS = 110


hosts_app = typer.Typer(cls=Group, invoke_without_command=True, epilog=HELP)

Host = Annotated[str, typer.Argument(metavar="HOST", help="Its id or its name.", show_default=False)]


@hosts_app.callback()
def hosts(context: typer.Context, as_json: Json = False) -> None:
    """List the device hosts, or revoke one."""
    if context.invoked_subcommand is not None:
        if as_json:
            raise WrongUsage(f"--json goes last, as in `corral hosts {context.invoked_subcommand} … --json`")
        return
    with connect(context) as corral:
        found = list(corral.hosts())
    if as_json:
        print_json(HostList(hosts=found))
        return
    has_room = stdout().width >= _WIDTH_WITH_IDS
    rows = (
        (
            host.name,
            _host_state(host),
            str(host.devices),
            str(host.running),
            age(host.last_seen_at),
            one_line(host.version),
            one_line(labels(host.labels)),
            *([str(host.host_id)] if has_room else []),
        )
        for host in found
    )
    columns = ("HOST", "STATE", "DEVICES", "RUNNING", "SEEN", "VERSION", "LABELS", *(["ID"] if has_room else []))
    print_table(columns, rows, empty="There are no hosts.", unfolded={*columns} - {"HOST", "VERSION", "LABELS"})


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
    host: Host,
    off: Annotated[bool, typer.Option("--off", help="End it: the host takes tasks again.")] = False,
    as_json: Json = False,
) -> None:
    """Have a host finish what it runs and take no more tasks."""
    with connect(context) as corral:
        drained = corral.drain(id_of_host(corral, host), draining=not off)
    if as_json:
        print_json(drained)
    else:
        stdout().print(Text.assemble(plain(drained.name), " is ", _host_state(drained), f", running {drained.running}"))


@hosts_app.command(cls=Command, epilog=HELP)
def revoke(context: typer.Context, host: Host, as_json: Json = False) -> None:
    """Void a host's credential, at once and for good. To come back it has to join anew."""
    with connect(context) as corral:
        revoked = corral.revoke_host(id_of_host(corral, host))
    if as_json:
        print_json(revoked)
    else:
        stdout().print(Text.assemble(plain(revoked.name), " is ", _host_state(revoked), f", running {revoked.running}"))


def _host_state(host: HostView) -> Text:
    if host.is_revoked:
        return Text("revoked", "bold red")
    if not host.is_online:
        return Text("offline", "bold red")
    return Text("draining", "magenta") if host.is_draining else Text("online", "green")


def _device_state(device: DeviceView) -> Text:
    if device.task_id:
        return Text("busy", "bold blue")
    if device.is_online:
        return Text("ready", "green")
    return Text(device.state if device.state != "ready" else "host offline", "bold red")
