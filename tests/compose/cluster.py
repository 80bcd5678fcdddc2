"""The cluster of compose.yaml, from a checkout of its own, with a project name and ports of its own."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = "corral-compose-test"
IMAGE = f"{PROJECT}:local"
LOGS = ROOT / "build/compose-test.log"
#: Building fetches a hundred packages.
LIMIT_SECONDS = 1800


class NoEngine(Exception):
    """Start a Docker engine, with the compose plugin: this test builds and runs the containers for real."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Runs while the block of `cluster()` does."""

    checkout: Path
    api_ports: tuple[int, int]
    flower_port: int

    @property
    def api_urls(self) -> list[str]:
        return [f"http://127.0.0.1:{port}" for port in self.api_ports]

    @property
    def flower_url(self) -> str:
        return f"http://127.0.0.1:{self.flower_port}"

    def compose(self, *words: str, stdin: str | None = None) -> str:
        """What the command prints on stdout. What it says on stderr is shown if it fails."""
        env = os.environ | {
            "CORRAL_IMAGE": IMAGE,
            "CORRAL_API_PORTS": "-".join(map(str, self.api_ports)),
            "CORRAL_FLOWER_PORT": str(self.flower_port),
            "CORRAL_CELERY_SUBMITTER": PROJECT,
        }
        command = ["docker", "compose", "--project-name", PROJECT, "--progress", "plain", *words]
        ran = subprocess.run(
            command,
            cwd=self.checkout,
            env=env,
            input=stdin or "",
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        if ran.returncode != 0:
            sys.stderr.write(ran.stdout[-4000:] + ran.stderr[-8000:])
            raise SystemExit(f"{' '.join(command)}: exit code {ran.returncode}")
        return ran.stdout

    def up(self, *options: str) -> None:
        self.compose("up", "--wait", "--quiet-pull", *options)

    def read(self, service: str, path: str) -> str:
        return self.compose("exec", "--no-TTY", service, "cat", path).strip()


@contextmanager
def cluster() -> Generator[Cluster]:
    """A cluster of what is committed; nothing of it is left after the block, however that ends.

    Raises:
        NoEngine: none answers.
    """
    for probe in (["docker", "info"], ["docker", "compose", "version"]):
        if shutil.which("docker") is None or subprocess.run(probe, capture_output=True, check=False).returncode:
            raise NoEngine(f"`{' '.join(probe)}` fails")
    with tempfile.TemporaryDirectory(prefix=f"{PROJECT}-") as folder:
        checkout = Path(folder) / "corral"
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", checkout], check=True)
        found = Cluster(checkout, _two_ports_in_a_row(), _free_port())
        try:
            yield found
        except BaseException:
            LOGS.parent.mkdir(exist_ok=True)
            LOGS.write_text(found.compose("ps", "--all") + found.compose("logs", "--no-color", "--timestamps"))
            sys.stderr.write(f"what the services have said is in {LOGS}\n")
            raise
        finally:
            found.compose("down", "--volumes", "--timeout", "20")
            subprocess.run(["docker", "image", "rm", "--force", IMAGE], capture_output=True, check=False)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _two_ports_in_a_row() -> tuple[int, int]:
    while True:
        first = _free_port()
        try:
            socket.create_server(("127.0.0.1", first + 1)).close()
        except (OSError, OverflowError):
            continue
        return first, first + 1
