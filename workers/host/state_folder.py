"""What a host keeps on disk: its lock, its credential, its undelivered reports."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import ValidationError

from corral.contract.host_protocol import HostRegistered
from workers.host.life import CannotStart, ExitCode


class StateFolderInUse(CannotStart):
    """Another host process works with this folder. End it, or give this one a folder of its own."""

    exit_code = ExitCode.STATE_FOLDER_IN_USE


class CredentialUnreadable(CannotStart):
    """The stored credential cannot be read. Remove the file to register this host anew."""

    exit_code = ExitCode.NOT_CONFIGURED


class StateFolder:
    """The folder of one host; `locked` keeps a second process out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.spool_path = path / "spool"
        self.credential_path = path / "credential.json"

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the folder. The lock ends with the process, however that ends.

        Raises:
            StateFolderInUse: with the folder and the process that holds it.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / "lock").open("a+", encoding="ascii") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                holder = lock.read().strip() or "unknown"
                raise StateFolderInUse(
                    f"the state folder {self.path} is in use by process {holder}; "
                    "end that process, or set CORRAL_HOST_STATE_DIR to another folder"
                ) from None
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n")
            lock.flush()
            yield

    def credential(self) -> HostRegistered | None:
        """Who this host is, or None if it was never registered."""
        try:
            text = self.credential_path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            return HostRegistered.model_validate_json(text)
        except ValidationError as error:
            raise CredentialUnreadable(
                f"{self.credential_path} holds no credential of a host; remove it to register anew"
            ) from error

    def keep_credential(self, registered: HostRegistered) -> None:
        """Store it for every later life; only the owner of the folder can read it."""
        part = self.credential_path.with_suffix(".part")
        with suppress(FileNotFoundError):
            part.unlink()
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(registered.model_dump_json())
            file.flush()
            os.fsync(file.fileno())
        part.replace(self.credential_path)
