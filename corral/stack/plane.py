"""The few operations of the control plane that are needed before there is an API to call."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from uuid import UUID

from control.artifacts import ArtifactFolder
from control.domain.errors import Unauthenticated
from control.operations.hosts import list_hosts
from control.operations.keys import authenticate_key, create_api_key
from control.operations.plane import Job, Plane
from control.signals.words import LeaseOf
from control.store.database import Database
from corral.contract.fleet import ApiKeyCreated, ApiKeyRequest


def create_first_key(database_url: str, request: ApiKeyRequest) -> ApiKeyCreated:
    """Make a key directly in the database, which has been migrated."""
    with _plane(database_url) as plane:
        return create_api_key(plane, name=request.name, scopes=request.scopes)


def is_known(database_url: str, api_key: str) -> bool:
    """Whether the database knows this key: it may be another database than the one that the key was made for."""
    with _plane(database_url) as plane:
        try:
            authenticate_key(plane, api_key)
        except Unauthenticated:
            return False
        return True


def hosts_last_seen(database_url: str) -> dict[str, datetime | None]:
    """When each host, by its name, last spoke to the control plane."""
    with _plane(database_url) as plane:
        return {host.name: host.last_seen_at for host in list_hosts(plane).hosts}


@contextmanager
def _plane(database_url: str) -> Generator[Plane]:
    database = Database.connect(database_url, pool_size=1, application_name="corral stack")
    nobody = _Nobody()
    try:
        yield Plane(database, doorbell=nobody, wakeups=nobody, artifacts=ArtifactFolder(Path("unused")))
    finally:
        database.close()


class _Nobody:
    """Making a key rings nobody and wakes nobody."""

    def ring(self, job: Job) -> None:
        raise AssertionError(f"nothing here rings for {job}")

    def wake_hosts(self, host_ids: Iterable[UUID]) -> None:
        raise AssertionError(f"nothing here wakes {host_ids}")

    def tell_cancels(self, leases: Iterable[LeaseOf]) -> bool:
        raise AssertionError(f"nothing here cancels {leases}")

    def tell_leases_ended(self, leases: Iterable[LeaseOf], *, holder_knows: bool = False) -> None:
        raise AssertionError(f"nothing here ends {leases}, {holder_knows=}")

    def drop_tokens(self, token_ids: Iterable[str]) -> None:
        raise AssertionError(f"nothing here revokes {token_ids}")
