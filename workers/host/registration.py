"""Find out who this host is: from its folder, or by enrolling with a join token."""

import asyncio
import platform
import sys

import structlog

from corral.contract.host_protocol import HostRegistered, HostRegistration
from workers.assignment.backoff import backoff_seconds
from workers.clock import pause
from workers.control_client.client import register_host
from workers.control_client.verdicts import CredentialRefused, Unreachable
from workers.host.life import CannotStart, ExitCode, HostLife
from workers.host.settings import HostSettings
from workers.host.state_folder import StateFolder

REGISTER_SECONDS = 10.0

log = structlog.get_logger()


class NotConfigured(CannotStart):
    """The settings do not suffice; the message says which and what would be right."""

    exit_code = ExitCode.NOT_CONFIGURED


async def identify_host(
    settings: HostSettings, folder: StateFolder, *, version: str | None, life: HostLife
) -> HostRegistered | None:
    """The host's id and credential; None if the host was told to end before the control plane could be reached.

    Raises:
        NotConfigured: there is neither a stored credential nor a join token that is good.
    """
    if stored := folder.credential():
        return stored
    if not settings.join_token or not settings.join_token.get_secret_value():
        raise NotConfigured(f"this host is not registered ({folder.credential_path} is missing): set CORRAL_JOIN_TOKEN")
    registration = HostRegistration(name=settings.name, labels=settings.labels, version=version, facts=_facts())
    for wait_seconds in backoff_seconds():
        try:
            registered = await register_host(
                settings.api_url,
                registration,
                join_token=settings.join_token.get_secret_value(),
                timeout_seconds=REGISTER_SECONDS,
            )
        except CredentialRefused as refused:
            raise NotConfigured(f"the control plane refused CORRAL_JOIN_TOKEN: {refused}") from refused
        except Unreachable as error:
            log.warning("host.not_registered", error=str(error))
            await pause(wait_seconds, until=life.draining)
        else:
            await asyncio.to_thread(folder.keep_credential, registered)
            log.info("host.registered", host_id=str(registered.host_id), name=settings.name)
            return registered
        if life.draining.is_set():
            break
    return None


def _facts() -> dict[str, str]:
    return {"system": platform.system(), "machine": platform.machine(), "python": sys.version.split()[0]}
