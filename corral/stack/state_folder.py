"""What a stack keeps on disk: its lock, its secrets, its ports, and how to reach it while it runs."""

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, TypeVar

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from corral.folder_lock import FolderInUse, take_folder


class StateFolderInUse(Exception):
    """A stack runs on this folder already. End it, or take another folder."""


class StateFolderUnusable(Exception):
    """Nothing can be written at this place. Take another folder, or make this one writable."""


class StateFolderDamaged(Exception):
    """A file in the folder cannot be read; the message says which, and what to do."""


class _Kept(BaseModel):
    model_config = ConfigDict(extra="ignore")


Kept = TypeVar("Kept", bound=_Kept)


class Secrets(_Kept):
    """Made on the first start and good for as long as the folder."""

    join_token: str
    api_key: str | None = None
    flower_password: str | None = None


class Ports(_Kept):
    """Where the parts listened the last time. Addresses stay the same over a restart as long as nobody takes them."""

    api: int | None = None
    phones: dict[str, int] = Field(default_factory=dict, description="The first port of each group of phones.")
    flower: int | None = None


class ReadyInfo(_Kept):
    """How to reach a running stack: the content of the ready file."""

    api_url: str
    api_key: str
    join_token: str
    database_url: str
    redis_url: str
    state_dir: str
    pids: dict[str, int]
    flower_url: str | None = None
    flower_password: str | None = None


def default_state_dir() -> Path:
    """Where `corral up` keeps its data when it is not told otherwise."""
    return platformdirs.user_data_path("corral")


class StackFolder:
    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.logs = self.path / "logs"
        self.running_file = self.path / "running.json"
        self._secrets_file = self.path / "secrets.json"
        self._ports_file = self.path / "ports.json"

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the folder; the lock ends with the process, however that ends.

        Raises:
            StateFolderInUse: with the process that holds it.
            StateFolderUnusable: it cannot be made, or not be written to.
        """
        with self._lock():
            yield

    def _lock(self) -> TextIO:
        try:
            self.logs.mkdir(parents=True, exist_ok=True)
            return take_folder(self.path)
        except FolderInUse as other:
            raise StateFolderInUse(
                f"a stack runs on {self.path} already, as process {other.holder}; "
                "end that one, or give this one another --state-dir"
            ) from None
        except OSError as trouble:
            raise StateFolderUnusable(
                f"the folder {self.path} cannot be used: {trouble.strerror}; give another --state-dir"
            ) from trouble

    def secrets(self, fresh: Secrets) -> Secrets:
        """Those of the folder, or the fresh ones where it has none."""
        return self._read(self._secrets_file, Secrets) or fresh

    def keep_secrets(self, secrets: Secrets) -> None:
        write_private(self._secrets_file, secrets.model_dump_json())

    def ports(self) -> Ports:
        return self._read(self._ports_file, Ports) or Ports()

    def keep_ports(self, ports: Ports) -> None:
        write_private(self._ports_file, ports.model_dump_json())

    def running(self) -> ReadyInfo | None:
        """How to reach the stack that runs on this folder, if one does."""
        return self._read(self.running_file, ReadyInfo)

    def _read(self, file: Path, model: type[Kept]) -> Kept | None:
        try:
            return model.model_validate_json(file.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError as trouble:
            raise StateFolderDamaged(f"{file} is damaged; remove it, and it is made anew") from trouble


def write_private(file: Path, text: str) -> None:
    """Put the text in place in one go, readable for the owner alone."""
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    part.replace(file)


def ready_json(info: ReadyInfo) -> str:
    return json.dumps(info.model_dump(exclude_none=True), indent=2) + "\n"
