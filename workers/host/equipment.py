"""What this host has for goals, made of its settings."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from workers.agent.model.providers import ModelAddress, ModelNotConfigured, address_of
from workers.agent.secrets_file import SecretsUnreadable, read_secrets_file
from workers.agent.subagents.remote_agent import RemoteAgent, parse_remote_agent
from workers.assignment.goal_execution import GoalEquipment
from workers.assignment.host_model import HostModel
from workers.host.life import CannotStart, ExitCode
from workers.host.settings import HostSettings
from workers.host.state_folder import StateFolder


class AgentNotConfigured(CannotStart):
    """The model or the secrets of this host cannot be used as they are named; the message says what to set."""

    exit_code = ExitCode.NOT_CONFIGURED


@asynccontextmanager
async def goal_equipment(settings: HostSettings, folder: StateFolder) -> AsyncGenerator[GoalEquipment]:
    """Checked before the host starts; the model itself is opened with the first goal.

    Raises:
        AgentNotConfigured: what the settings name is not there.
    """
    try:
        address = _address(settings)
        secrets = read_secrets_file(settings.agent_secrets_file) if settings.agent_secrets_file else {}
    except (ModelNotConfigured, SecretsUnreadable) as error:
        raise AgentNotConfigured(str(error)) from error
    model = HostModel(address, takes_images=settings.agent_takes_images)
    try:
        yield GoalEquipment(model, secrets, _remote(settings), folder.emptied_sessions_folder())
    finally:
        await model.aclose()


def _remote(settings: HostSettings) -> RemoteAgent | None:
    return parse_remote_agent(settings.agent_ask) if settings.agent_ask else None


def _address(settings: HostSettings) -> ModelAddress | None:
    if settings.agent_model is None:
        return None
    key = settings.agent_model_key.get_secret_value() if settings.agent_model_key else None
    return address_of(settings.agent_model, url=settings.agent_model_url, api_key=key, environment=os.environ)
