"""The commands, by what they are for."""

from importlib.metadata import version
from typing import Annotated

import typer

from corral.cli import agent, artifacts, cancel, demo, fleet, flower, keys, parts, submit, tasks, up, watch
from corral.cli.connection import Target
from corral.cli.exit_codes import HELP, HELP_OF_PARTS
from corral.cli.failures import WrongUsage
from corral.cli.help import Command, Group

_TASKS, _FLEET, _HERE, _PARTS = (
    "Tasks",
    "Hosts, devices, keys",
    "Everything on this machine",
    "Single parts of a cluster",
)

app = typer.Typer(
    name="corral",
    cls=Group,
    help="A control plane for fleets of Android devices, in which every task can be stopped.",
    epilog=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"corral {version('corral')}")
        raise typer.Exit


def _refuse_json(is_given: bool) -> None:
    if is_given:
        raise WrongUsage("--json goes after the command, as in `corral tasks --json`")


@app.callback()
def choose_target(
    context: typer.Context,
    url: Annotated[
        str | None, typer.Option(envvar="CORRAL_URL", help="The API. Default: the one that `corral up` runs here.")
    ] = None,
    api_key: Annotated[
        str | None, typer.Option(envvar="CORRAL_API_KEY", help="The key. Default: the one that `corral up` made.")
    ] = None,
    _version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version and exit.")
    ] = False,
    _json: Annotated[bool, typer.Option("--json", is_eager=True, hidden=True, callback=_refuse_json)] = False,
) -> None:
    context.obj = Target(url, api_key)


for panel, commands in {
    _HERE: (up.up, demo.demo),
    _TASKS: (submit.submit, tasks.tasks, tasks.show, watch.watch, cancel.cancel, artifacts.artifacts),
    _FLEET: (fleet.devices, fleet.drain),
    _PARTS: (parts.api, parts.jobs, parts.beat, parts.bridge, parts.host, flower.flower, parts.migrate),
}.items():
    for command in commands:
        app.command(cls=Command, rich_help_panel=panel, epilog=HELP_OF_PARTS if panel is _PARTS else HELP)(command)
app.add_typer(fleet.hosts_app, name="hosts", rich_help_panel=_FLEET)
app.add_typer(keys.app, name="keys", rich_help_panel=_FLEET)
app.add_typer(agent.app, name="agent", rich_help_panel=_HERE)
# `phone` hands its arguments on to the emulated phones, which have a command line of their own.
app.command(
    rich_help_panel=_PARTS,
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(parts.phone)
