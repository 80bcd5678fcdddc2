"""What a host keeps on disk: its lock, its credential, its undelivered reports, the logs of agents while they run."""

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from pydantic import ValidationError

from corral.contract.host_protocol import HostRegistered
from corral.folder_lock import FolderInUse, take_folder
from workers.host.life import CannotStart, ExitCode


class StateFolderInUse(CannotStart):
    """Another host process works with this folder. End it, or give this one a folder of its own."""

    exit_code = ExitCode.STATE_FOLDER_IN_USE


class StateFolderUnusable(CannotStart):
    """The folder cannot be written or read as a host must. Mend it, or set CORRAL_HOST_STATE_DIR to another one."""

    exit_code = ExitCode.NOT_CONFIGURED


class CredentialUnreadable(CannotStart):
    """The stored credential cannot be read. Remove the file to register this host anew."""

    exit_code = ExitCode.NOT_CONFIGURED


class StateFolder:
    """The folder of one host; `locked` keeps a second process out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.spool_path = path / "spool"
        self.credential_path = path / "credential.json"
        self._sessions_path = path / "sessions"

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the folder. The lock ends with the process, however that ends.

        Raises:
            StateFolderInUse: with the folder and the process that holds it.
            StateFolderUnusable: no folder, read-only, full: better known before this host enrols than after.
        """
        with self._lock():
            yield

    def _lock(self) -> TextIO:
        with self._usable():
            self.spool_path.mkdir(parents=True, exist_ok=True)
            try:
                return take_folder(self.path)
            except FolderInUse as other:
                raise StateFolderInUse(
                    f"the state folder {self.path} is in use by process {other.holder}; "
                    "end that process, or set CORRAL_HOST_STATE_DIR to another folder"
                ) from None

    def emptied_sessions_folder(self) -> Path:
        """Where running agents keep their logs; what a former life left there belongs to no run any more."""
        with self._usable():
            shutil.rmtree(self._sessions_path, ignore_errors=True)
            self._sessions_path.mkdir(mode=0o700, exist_ok=True)
        return self._sessions_path

    def credential(self) -> HostRegistered | None:
        """Who this host is, or None if it was never registered."""
        with self._usable():
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
        with self._usable():
            part.unlink(missing_ok=True)
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(registered.model_dump_json())
                file.flush()
                os.fsync(file.fileno())
            part.replace(self.credential_path)

    @contextmanager
    def _usable(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise StateFolderUnusable(
                f"the state folder {self.path} cannot be used ({error}); "
                "mend it, or set CORRAL_HOST_STATE_DIR to another folder"
            ) from error
