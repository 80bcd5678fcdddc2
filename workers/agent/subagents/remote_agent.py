"""An agent in another process that ours may ask, as people name it."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


class InvalidRemoteAgent(ValueError):
    """An agent to ask is written as NAME=COMMAND."""


@dataclass(frozen=True, slots=True)
class RemoteAgent:
    """An agent that can be asked: `command` speaks the protocol on its standard streams."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    folder: Path = field(default_factory=Path.cwd)


def parse_remote_agent(text: str) -> RemoteAgent:
    """The agent that `NAME=COMMAND` names. Raises `InvalidRemoteAgent`."""
    name, _, line = text.partition("=")
    try:
        command = tuple(shlex.split(line))
    except ValueError as mistake:
        raise InvalidRemoteAgent(f"the command of '{name}' cannot be read: {mistake}") from mistake
    if not name.strip() or not command:
        raise InvalidRemoteAgent(f"'{text}' is not NAME=COMMAND, such as 'coder=npx some-agent --acp'")
    return RemoteAgent(name.strip(), command)
