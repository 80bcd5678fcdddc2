"""The API over a real database and a real socket: one server for all tests, emptied before each."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import httpx
import psycopg
import pytest
import structlog
from fastapi import FastAPI

from control.app.main import create_app
from control.app.settings import Settings
from control.artifacts import ArtifactFolder
from control.operations.keys import create_api_key
from control.operations.plane import Plane
from control.signals.listener import WakeupListener
from control.signals.wakeups import RedisWakeups
from control.store.database import Database
from corral.contract.fleet import Scope
from corral.stack.postgres import EmbeddedPostgres
from corral.stack.valkey import EmbeddedValkey
from tests.conftest import EMPTY, TEMPLATE
from tests.control.api.calls import JOIN_TOKEN
from tests.control.api.serving import served
from tests.control.fleet import RecordedRings

Headers: TypeAlias = dict[str, str]
DATABASE = "test_api"


@pytest.fixture(scope="module", autouse=True)
def quiet_logs() -> Iterator[None]:
    """Plain lines from warnings on: the default prints every local variable of a traceback, which takes seconds."""
    structlog.configure(
        processors=[structlog.processors.format_exc_info, structlog.processors.KeyValueRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger("warning"),
    )
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def settings(postgres: EmbeddedPostgres, valkey: EmbeddedValkey, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {DATABASE} TEMPLATE {TEMPLATE} STRATEGY FILE_COPY")
    return Settings(
        database_url=postgres.url(DATABASE),
        redis_url=valkey.url,
        join_token=JOIN_TOKEN,
        artifacts_dir=tmp_path_factory.mktemp("artifacts"),
    )


@pytest.fixture(scope="session")
def shared_plane(settings: Settings) -> Iterator[Plane]:
    database = Database.connect(settings.database_url.get_secret_value(), pool_size=26, application_name="test api")
    yield Plane(
        database=database,
        doorbell=RecordedRings(),
        wakeups=RedisWakeups(settings.redis_url.get_secret_value(), lease_seconds=settings.lease_seconds),
        artifacts=ArtifactFolder(settings.artifacts_dir, max_bytes=2_000_000),
        timing=settings.timing,
    )
    database.close()


@pytest.fixture(scope="session")
def app(settings: Settings, shared_plane: Plane) -> FastAPI:
    return create_app(settings, shared_plane, sweeps=())


@pytest.fixture(scope="session")
def server(app: FastAPI, settings: Settings) -> Iterator[httpx.Client]:
    with served(app, settings) as client:
        yield client


@pytest.fixture
def listener(app: FastAPI) -> WakeupListener:
    return app.state.edge.listener


@pytest.fixture
def plane(shared_plane: Plane) -> Plane:
    """The plane of the server, with nothing in its database."""
    with shared_plane.database.transaction() as tx:
        tx.run(EMPTY)
    return shared_plane


@pytest.fixture
def api(server: httpx.Client, plane: Plane) -> httpx.Client:
    """A client of the server, over an empty database."""
    return server


@pytest.fixture
def key(plane: Plane) -> Callable[..., Headers]:
    """Makes the headers of a fresh key with the scopes that are given; all of them where none is."""

    def make(*scopes: Scope, name: str = "tests") -> Headers:
        created = create_api_key(plane, name=name, scopes=list(scopes) or list(Scope))
        return {"Authorization": f"Bearer {created.api_key}"}

    return make


@pytest.fixture
def user(key: Callable[..., Headers]) -> Headers:
    return key()
