"""From text to `Flow`.

Every error is found here, at submit: afterwards only the phone can say no.
"""

from collections.abc import Mapping

from corral.flow.commands.app import LaunchApp
from corral.flow.commands.control import HoldingCommand
from corral.flow.commands.flow_command import FlowCommand
from corral.flow.env import check_env
from corral.flow.errors import UndefinedVariable
from corral.flow.files import FlowFiles
from corral.flow.flow import Flow
from corral.flow.reading import Level, Reading
from corral.flow.steps import steps_of, walk
from corral.flow.variables import Variables

_FLOW_SUFFIXES = (".yaml", ".yml")


def parse_flow(
    source: str,
    *,
    name: str = "flow.yaml",
    files: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
) -> Flow:
    """The flow in `source`, ready to be run. Pure: reads nothing but its arguments.

    `name` is the path of the flow among the submitted files, for errors and for the files that it runs: `files` maps
    paths relative to the same folder to their text. `env` gives values to `${NAME}` and wins over the header's `env`.
    Raises a `FlowError` that names file, line, command and what is allowed there.
    """
    check_env(env or {}, file=name)
    return _flow(Reading(FlowFiles.of(files or {})), source, name=name, env=env or {})


def parse_flows(files: Mapping[str, str], *, env: Mapping[str, str] | None = None) -> dict[str, Flow]:
    """The flows among `files`, which are those called `*.yaml` or `*.yml`, by path: each can be run by itself.

    One that lacks a variable is left out if another runs it, and so can give it. Raises a `FlowError` for every other
    mistake, and where all of them together hold more commands than one flow may.
    """
    check_env(env or {}, file="env")
    written = FlowFiles.of(files)
    reading = Reading(written)
    flows: dict[str, Flow] = {}
    incomplete: dict[str, UndefinedVariable] = {}
    for path, source in written.sources.items():
        if path.endswith(_FLOW_SUFFIXES):
            try:
                flows[path] = _flow(reading, source, name=path, env=env or {})
            except UndefinedVariable as error:
                incomplete[path] = error
    run_by_others = {path for flow in flows.values() for path in _files_run_by(flow)}
    for path, error in incomplete.items():
        if path not in run_by_others:
            raise error
    return flows


def _flow(reading: Reading, source: str, *, name: str, env: Mapping[str, str]) -> Flow:
    header, items = reading.documents(name, source, Variables(passed=env))
    level = Level(name, header.app_id, header.variables, running=(name,))
    commands = reading.commands(items, level)
    return Flow(
        name=header.name or name,
        app_id=header.app_id,
        tags=header.tags,
        commands=commands,
        steps_total=steps_of(commands),
        warnings=tuple(_warnings(commands)),
    )


def _files_run_by(flow: Flow) -> set[str]:
    holding = (command for command in walk(flow.commands) if isinstance(command, HoldingCommand))
    return {file for command in holding if (file := getattr(command, "flow_file", None))}


def _warnings(commands: tuple[FlowCommand, ...]) -> list[str]:
    """What is accepted and does nothing, once for each place in the text."""
    found: dict[str, None] = {}
    for command in walk(commands):
        if isinstance(command, LaunchApp):
            for field in command.ignored_fields:
                found[f"{command.file}:{command.line}: launchApp: `{field}` is accepted and has no effect"] = None
    return list(found)
