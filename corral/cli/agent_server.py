"""Puts together what `corral agent acp` serves: a device, a model, and an agent for each session."""

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs
import structlog

from corral.contract.identifiers import uuid7
from corral.folder_lock import take_folder
from corral.goal.script import Script
from workers.agent.acp.device import opened_device
from workers.agent.acp.server import serve
from workers.agent.acp.stdio import stdio_stream
from workers.agent.agent import Agent
from workers.agent.budget import Limits
from workers.agent.hooks import Hooks
from workers.agent.instructions import device_prompt
from workers.agent.model.interface import AgentModel
from workers.agent.model.providers import open_model
from workers.agent.model.script_planner import ScriptPlanner
from workers.agent.secrets_file import read_secrets_file
from workers.agent.session.session import Session
from workers.agent.subagents.remote import AskAgent
from workers.agent.subagents.remote_agent import RemoteAgent
from workers.agent.subagents.spawn import SpawnAgent
from workers.agent.task_secrets import Secrets
from workers.agent.tools.toolbox import device_tools
from workers.device.device import Device
from workers.phone.app.description import BUILT_IN_APPS, load_apps
from workers.phone.fleet import serve_phones

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class AcpOptions:
    """What was asked for on the command line; one of `model` and `script` is set."""

    device_serial: str | None
    is_emulated: bool
    addresses: Sequence[str]
    app_paths: Sequence[Path]
    adb_port: int
    model: str | None
    model_url: str | None
    script: Script | None
    secrets_file: Path | None
    session_folder: Path | None
    state_folder: Path | None
    max_steps: int
    asked_agent: RemoteAgent | None
    asks_permission: bool


async def serve_agent(options: AcpOptions) -> None:
    """Serves the client on standard input and output until it is gone, or until SIGTERM or SIGINT."""
    with _ended_by_signals() as ends, suppress(asyncio.CancelledError):
        state_folder = options.state_folder or platformdirs.user_data_path("corral") / "agent"
        sessions = options.session_folder or state_folder / "sessions"
        for folder in (state_folder, sessions):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        secrets = Secrets(read_secrets_file(options.secrets_file) if options.secrets_file else None)
        async with (
            _new_model(options) as new_model,
            _device(options, state_folder) as device,
            stdio_stream() as stream,
        ):
            log.info("agent.serving", device=device.transport_serial, sessions=str(sessions))

            def new_agent(hooks: Hooks) -> Agent:
                return _agent(options, device, new_model(), secrets=secrets, sessions=sessions, hooks=hooks)

            await serve(stream, new_agent, asks_permission=options.asks_permission)
            ends()


def _agent(
    options: AcpOptions, device: Device, model: AgentModel, *, secrets: Secrets, sessions: Path, hooks: Hooks
) -> Agent:
    prompt = device_prompt(secrets=secrets.names)
    return Agent(
        model,
        tools=[
            *device_tools(device, secrets=secrets, takes_images=model.takes_images),
            SpawnAgent(system_prompt=prompt),
            *([AskAgent(options.asked_agent)] if options.asked_agent else []),
        ],
        system_prompt=prompt,
        session=Session(sessions / f"{uuid7()}.jsonl", redact=secrets.redacted if secrets else None),
        hooks=hooks,
        limits=Limits(steps=options.max_steps),
    )


@asynccontextmanager
async def _new_model(options: AcpOptions) -> AsyncGenerator[Callable[[], AgentModel]]:
    """What makes the model of a session: one for all, or each its own where it keeps its place in a script."""
    script = options.script
    if script is not None:
        yield lambda: ScriptPlanner(script)
        return
    key = os.environ.get("CORRAL_AGENT_MODEL_KEY") or None
    model = open_model(options.model or "", url=options.model_url, api_key=key, environment=os.environ)
    try:
        yield lambda: model
    finally:
        await model.aclose()


@asynccontextmanager
async def _device(options: AcpOptions, state_folder: Path) -> AsyncGenerator[Device]:
    if options.is_emulated:
        apps = load_apps([BUILT_IN_APPS, *options.app_paths])
        with tempfile.TemporaryDirectory(prefix="corral-agent-") as folder:
            async with (
                serve_phones(count=1, apps=apps) as phones,
                opened_device(
                    phones.phones[0].serial,
                    state_folder=Path(folder),
                    adb_port=options.adb_port,
                    addresses=phones.addresses,
                    finds_phones=False,
                ) as device,
            ):
                yield device
        return
    # Two adb servers cannot have the same phone on USB, and an adb key is written once.
    with take_folder(state_folder):
        async with opened_device(
            options.device_serial,
            state_folder=state_folder,
            adb_port=options.adb_port,
            addresses=options.addresses,
        ) as device:
            yield device


@contextmanager
def _ended_by_signals() -> Generator[Callable[[], None]]:
    """The first signal ends the work in order, and a second one changes nothing: the end is on its way.

    It is also on its way once what is yielded was called.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None  # noqa: S101  this runs in one
    is_ending = False

    def ends() -> None:
        nonlocal is_ending
        is_ending = True

    def end() -> None:
        if not is_ending:
            ends()
            task.cancel()

    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, end)
    try:
        yield ends
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
            if is_ending:
                # All that is left is to tell that it ended in order, which a signal must not belie.
                signal.signal(number, signal.SIG_IGN)
