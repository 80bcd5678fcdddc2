"""Everything that is measured on one machine: Postgres with its own settings, Valkey, the API and the jobs."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, LiteralString

import psycopg

from control.jobs.plane import open_plane
from control.operations.plane import Plane, Timing
from control.store.schema import migrate
from corral.contract.fleet import ApiKeyRequest, Scope
from corral.stack.plane import create_first_key
from corral.stack.ports import free_port
from corral.stack.postgres import EmbeddedPostgres
from corral.stack.valkey import EmbeddedValkey
from tests.bench.processes import Program, family_cpu_seconds
from tests.bench.wire import Client, connected, get

DATABASE = "bench"
JOIN_TOKEN = "a-token-for-the-benchmarks"


class Stand:
    """One control plane. Nothing of Corral runs until it is started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.postgres, self.valkey = EmbeddedPostgres(folder / "postgres"), EmbeddedValkey(folder / "valkey")
        self.port, self.bare_port = free_port(), free_port()
        self.programs: dict[str, Program] = {}
        self.api_key = ""

    @property
    def database_url(self) -> str:
        return self.postgres.url(DATABASE)

    @property
    def env(self) -> dict[str, str]:
        return {
            "CORRAL_DATABASE_URL": self.database_url,
            "CORRAL_REDIS_URL": self.valkey.url,
            "CORRAL_JOIN_TOKEN": JOIN_TOKEN,
            "CORRAL_ARTIFACTS_DIR": str(self.folder / "artifacts"),
            "CORRAL_PORT": str(self.port),
        }

    def prepare(self) -> None:
        """Bring the rest up, over a Postgres that runs."""
        self.valkey.start()
        self.postgres.ensure_database(DATABASE)
        migrate(self.database_url)
        self.api_key = create_first_key(self.database_url, ApiKeyRequest(name="bench", scopes=list(Scope))).api_key

    def start(self, name: str, *arguments: str, env: Mapping[str, str] | None = None) -> Program:
        """Start a program, in place of the one of that name if there is one."""
        if name in self.programs:
            self.programs[name].stop()
        log_file = self.folder / f"{name}.log"
        log_file.write_text("")
        self.programs[name] = program = Program(name, arguments, log_file, {**self.env, **(env or {})})
        program.start()
        return program

    def start_api(self, **env: str) -> Program:
        api = self.start("api", "corral", "api", env=env)
        api.wait_until(lambda: listens(self.port))
        return api

    def start_jobs(self, **env: str) -> None:
        for name, said in (("jobs", "jobs.started"), ("beat", "beat.started")):
            program = self.start(name, "corral", name, env=env)
            program.wait_until(lambda program=program, said=said: program.has_said(said))

    def start_bare_server(self) -> None:
        bare = self.start("bare", "tests.bench.bare_server", str(self.bare_port))
        bare.wait_until(lambda: listens(self.bare_port))

    def cpu_of(self, *names: str) -> dict[str, Callable[[], float]]:
        """Ways to ask what each of these has used, with its children."""
        return {name: self._cpu_of(name) for name in names}

    def _cpu_of(self, name: str) -> Callable[[], float]:
        if name in self.programs:
            pid = self.programs[name].pid
        else:
            server = {"postgres": self.postgres, "valkey": self.valkey}[name].process
            assert server is not None
            pid = server.pid
        return lambda: family_cpu_seconds(pid)

    def open_plane(self, *, pool_size: int = 8, timing: Timing | None = None) -> Plane:
        """The control plane's operations in this process."""
        return open_plane(
            database_url=self.database_url,
            redis_url=self.valkey.url,
            artifacts_folder=self.folder / "artifacts",
            timing=timing or Timing(),
            pool_size=pool_size,
            application_name="bench",
        )

    def connection(self) -> psycopg.Connection[tuple[Any, ...]]:
        """A connection of the benchmark's own, each statement its own transaction."""
        return psycopg.connect(self.database_url, autocommit=True)

    def run(self, *statements: LiteralString) -> None:
        with self.connection() as connection:
            for statement in statements:
                connection.execute(statement)

    def value(self, statement: LiteralString) -> Any:
        with self.connection() as connection:
            row = connection.execute(statement).fetchone()
            assert row is not None
            return row[0]

    def metric(self, name: str) -> float:
        """What the API itself has counted, over all labels."""
        with Client(self.port) as client:
            lines = client.read(get("/metrics", token=self.api_key)).decode().splitlines()
        found = [line for line in lines if line.startswith((f"{name} ", f"{name}{{"))]
        return sum(float(line.rpartition(" ")[2]) for line in found)

    def stop(self) -> None:
        for program in reversed(self.programs.values()):
            program.stop()
        self.valkey.stop()
        self.postgres.stop()


def listens(port: int) -> bool:
    """Whether somebody listens there: uvicorn does once the application has started."""
    try:
        connected(port).close()
    except OSError:
        return False
    return True


@contextmanager
def stand(**postgres_environment: str) -> Iterator[Stand]:
    """Postgres and Valkey, ready; everything ends with the block."""
    with TemporaryDirectory(prefix="corral-bench-") as name:
        made = Stand(Path(name))
        try:
            with _environment(postgres_environment):
                made.postgres.start()
            made.prepare()
            yield made
        finally:
            made.stop()


@contextmanager
def _environment(more: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(more)
    try:
        yield
    finally:
        for name in more:
            os.environ.pop(name)
        os.environ.update(before)
