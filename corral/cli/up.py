"""`corral up`: everything on this machine."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from corral.cli.exit_codes import ExitCode
from corral.cli.failures import CommandFailed, WrongUsage
from corral.cli.output import plain, stderr, stdout
from corral.stack.layout import FLOWER_USER, StackOptions
from corral.stack.postgres import EmbeddedPostgresError
from corral.stack.stack import Stack
from corral.stack.state_folder import (
    ReadyInfo,
    StackFolder,
    StateFolderDamaged,
    StateFolderInUse,
    StateFolderUnusable,
    default_state_dir,
)
from corral.stack.stop_request import StopAsked, StopRequest
from corral.stack.supervisor import StartFailed
from corral.stack.valkey import EmbeddedValkeyError


def up(
    state_dir: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keeps all data. Default: this user's data folder.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Of the API; 0 picks one.")] = 7700,
    phones: Annotated[int, typer.Option(min=0, max=200, help="Emulated phones.")] = 2,
    hosts: Annotated[int, typer.Option(min=0, max=50, help="Device hosts; they share the phones.")] = 1,
    usb: Annotated[
        bool, typer.Option("--usb", help="Also use the phones on USB and the emulators of this machine.")
    ] = False,
    flower: Annotated[
        bool, typer.Option("--flower", help="Also run Flower, which shows hosts and tasks as Celery's.")
    ] = False,
    lease_seconds: Annotated[
        float | None, typer.Option(min=0.5, max=3600, help="How long a host may be silent. Default: 30.")
    ] = None,
    ready_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Gets addresses and key as JSON once all is ready.")
    ] = None,
) -> int:
    """Start everything: Postgres, Valkey, API, jobs, a host with emulated phones. Ctrl-C ends it; the data stays."""
    if phones and not hosts:
        raise WrongUsage("phones need a host: give --hosts 1, or --phones 0")
    if ready_file is not None and not ready_file.absolute().parent.is_dir():
        raise WrongUsage(f"--ready-file {ready_file}: there is no such folder")
    folder = StackFolder(state_dir or default_state_dir())
    options = StackOptions(
        port=port, phones=phones, hosts=hosts, lease_seconds=lease_seconds, finds_phones=usb, has_flower=flower
    )
    console = stderr()
    with running_stack(folder, options, console=console, ready_file=ready_file) as (stack, info):
        if info is not None:
            _print_summary(info, options, is_default=folder.path == default_state_dir())
            stack.run()
    return ExitCode.OK


@contextmanager
def running_stack(
    folder: StackFolder,
    options: StackOptions,
    *,
    console: Console,
    ready_file: Path | None = None,
) -> Generator[tuple[Stack, ReadyInfo | None]]:
    """A stack that is up while the block runs; without its info where a stop was asked for before it was up.

    Raises:
        CommandFailed: it cannot be started.
    """
    stop_request = StopRequest()
    progress = _Progress(console)
    with _failures(), stop_request.from_signals(), folder.locked():
        stack = Stack(folder, options, stop_request=stop_request, announce=progress.say, ready_file=ready_file)
        try:
            with progress.shown():
                info = _started(stack)
            yield stack, info
        finally:
            with progress.shown():
                progress.say("stopping")
                stack.stop()


def _started(stack: Stack) -> ReadyInfo | None:
    try:
        return stack.start()
    except StopAsked:
        return None


@contextmanager
def _failures() -> Generator[None]:
    try:
        yield
    except (
        StartFailed,
        StateFolderInUse,
        StateFolderUnusable,
        StateFolderDamaged,
        EmbeddedPostgresError,
        EmbeddedValkeyError,
    ) as trouble:
        raise CommandFailed(str(trouble)) from trouble


class _Progress:
    """What happens now: a line that changes on a terminal while something is awaited, lines elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = console.status("") if console.is_terminal else None
        self._is_shown = False

    @contextmanager
    def shown(self) -> Generator[None]:
        self._is_shown = True
        try:
            if self._status is None:
                yield
            else:
                with self._status:
                    yield
        finally:
            self._is_shown = False

    def say(self, sentence: str) -> None:
        if self._is_shown and self._status is not None:
            self._status.update(plain(sentence))
        else:
            self._console.print(plain(sentence))


def _facts(info: ReadyInfo, options: StackOptions) -> dict[str, str]:
    facts = {
        "API": info.api_url,
        "key": info.api_key,
        "join token": info.join_token,
        "phones": f"{options.phones} emulated, on {options.hosts} host{'' if options.hosts == 1 else 's'}",
        "data, logs": info.state_dir,
    }
    if info.flower_url is not None:
        facts["Flower"] = f"{info.flower_url} user {FLOWER_USER}, password {info.flower_password}"
    return facts


def _print_summary(info: ReadyInfo, options: StackOptions, *, is_default: bool) -> None:
    facts = Table.grid(padding=(0, 3))
    facts.add_column(style="dim")
    facts.add_column(overflow="fold")
    for name, value in _facts(info, options).items():
        facts.add_row(name, plain(value))
    console = stdout()
    console.print(Text.assemble(("Corral is up", "bold green"), ("  Ctrl-C ends it, the data stays", "dim")))
    console.print(facts)
    console.print()
    if not is_default:
        console.print(plain(f"  export CORRAL_URL={info.api_url} CORRAL_API_KEY={info.api_key}"), soft_wrap=True)
    console.print(plain("  corral submit examples/write_a_note.yaml --wait"))
    console.print(plain("  corral tasks"))
