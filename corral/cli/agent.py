"""`corral agent`: an agent with a device on this machine, without a control plane."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from corral.cli.exit_codes import HELP_OF_PARTS
from corral.cli.failures import CommandFailed, WrongUsage
from corral.cli.flow_files import read_text
from corral.cli.help import Command, Group
from corral.folder_lock import FolderInUse

if TYPE_CHECKING:
    from corral.goal.script import Script
    from workers.agent.subagents.remote_agent import RemoteAgent

app = typer.Typer(cls=Group, help="Run an agent on a device of this machine.", no_args_is_help=True)

EMULATED = "emulated"

_THINKS = "What thinks (one of the two)"
_DEVICE = "The device"


# Without it, typer would make the only command the group itself, and `corral agent acp` an unknown argument.
@app.callback()
def agent() -> None:
    """Run an agent on a device of this machine."""


@app.command(cls=Command, epilog=HELP_OF_PARTS)
def acp(
    device: Annotated[
        str | None,
        typer.Option(
            metavar="SERIAL",
            help=f"Its serial, or `{EMULATED}` for a phone made up here. Default: the only one there is.",
            rich_help_panel=_DEVICE,
        ),
    ] = None,
    connect: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST:PORT", help="A phone to reach by `adb connect`.", rich_help_panel=_DEVICE),
    ] = None,
    app_path: Annotated[
        list[Path] | None,
        typer.Option("--app", metavar="PATH", help="An app for the emulated phone.", rich_help_panel=_DEVICE),
    ] = None,
    adb_port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Of its own adb server; 0 picks one.", rich_help_panel=_DEVICE)
    ] = 0,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            envvar="CORRAL_AGENT_MODEL",
            help="A model, as openai:…, anthropic:…, google:… or compatible:….",
            rich_help_panel=_THINKS,
        ),
    ] = None,
    model_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="CORRAL_AGENT_MODEL_URL",
            help="Where the model is, for compatible:… or a proxy.",
            rich_help_panel=_THINKS,
        ),
    ] = None,
    script: Annotated[
        str | None, typer.Option(metavar="PATH", help="Play these answers.", rich_help_panel=_THINKS)
    ] = None,
    secrets_file: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Secrets that it may type, as TOML or JSON.")
    ] = None,
    session_folder: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Gets the logs of all sessions. Default: in the state folder.")
    ] = None,
    state_dir: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keeps the adb key. Default: this user's data folder.")
    ] = None,
    max_steps: Annotated[int, typer.Option(min=1, max=10_000, help="Answers of the model in one turn.")] = 100,
    ask: Annotated[
        str | None,
        typer.Option(metavar="NAME=COMMAND", help="An agent that speaks this protocol too, for it to ask."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask no permission for what changes something.")] = False,
) -> int:
    """Speak the Agent Client Protocol on standard input and output. An editor starts this; logs go to stderr."""
    # These are slow to import, and nobody else should wait for them.
    from corral.cli.agent_server import AcpOptions, serve_agent
    from corral.logs import configure_logs
    from workers.agent.acp.device import NoSuchDevice
    from workers.agent.acp.stdio import NotAPipe
    from workers.agent.model.providers import ModelNotConfigured
    from workers.agent.secrets_file import SecretsUnreadable
    from workers.device.adb_server import DEFAULT_ADB_PORT, AdbServerFailed
    from workers.phone.app.description import AppDescriptionInvalid

    if (model is None) == (script is None):
        raise WrongUsage("give either --model NAME or --script PATH: one of them does the thinking")
    if app_path and device != EMULATED:
        raise WrongUsage(f"--app belongs to --device {EMULATED}: other phones have their own apps")
    if adb_port == DEFAULT_ADB_PORT:
        raise WrongUsage(f"--adb-port {adb_port} belongs to the adb that people use by hand; give another, or 0")
    options = AcpOptions(
        device_serial=None if device == EMULATED else device,
        is_emulated=device == EMULATED,
        addresses=connect or [],
        app_paths=app_path or [],
        adb_port=adb_port,
        model=model,
        model_url=model_url,
        script=None if script is None else _script(script),
        secrets_file=secrets_file,
        session_folder=session_folder,
        state_folder=state_dir,
        max_steps=max_steps,
        asked_agent=None if ask is None else _remote_agent(ask),
        asks_permission=not yes,
    )
    configure_logs(log_format="console", log_level="info")
    try:
        asyncio.run(serve_agent(options))
    except (ModelNotConfigured, SecretsUnreadable, NotAPipe, AppDescriptionInvalid) as mistake:
        raise WrongUsage(str(mistake)) from mistake
    except FolderInUse as taken:
        raise CommandFailed(
            f"another `corral agent` (process {taken.holder}) has the phones of this machine; end it, or give another "
            "--state-dir if it does not share its phone with this one"
        ) from taken
    except (NoSuchDevice, AdbServerFailed, OSError) as trouble:
        raise CommandFailed(str(trouble)) from trouble
    return 0


def _script(path: str) -> "Script":
    from corral.goal.errors import InvalidScript
    from corral.goal.script import parse_script

    try:
        return parse_script(read_text(Path(path), named=path))
    except InvalidScript as mistake:
        raise WrongUsage(f"--script {path}: {mistake}") from mistake


def _remote_agent(text: str) -> "RemoteAgent":
    from workers.agent.subagents.remote_agent import InvalidRemoteAgent, parse_remote_agent

    try:
        return parse_remote_agent(text)
    except InvalidRemoteAgent as mistake:
        raise WrongUsage(f"--ask: {mistake}") from mistake
