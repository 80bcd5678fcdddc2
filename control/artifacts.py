"""Where the bytes of artifacts live: a folder behind three verbs, so that another place can take its part."""

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID


class ArtifactTooLarge(Exception):
    """Send an artifact of at most the size that the message names."""


@dataclass(frozen=True, slots=True)
class StoredBytes:
    size_bytes: int
    sha256: str


class ArtifactFolder:
    """Files named by identifiers alone: no name that anybody chose ever becomes a path."""

    def __init__(self, root: Path, *, max_bytes: int = 64 * 1024 * 1024) -> None:
        self._root = root
        self.max_bytes = max_bytes

    def write(self, artifact_id: UUID, chunks: Iterable[bytes]) -> StoredBytes:
        """Store what the chunks bring, whole or not at all.

        Raises:
            ArtifactTooLarge: more than `max_bytes` came; nothing is kept.
        """
        path = self._path(artifact_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        try:
            stored = self._write_bounded(partial, chunks)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
        return stored

    def path(self, artifact_id: UUID) -> Path | None:
        """The file, or None where it is gone."""
        path = self._path(artifact_id)
        return path if path.exists() else None

    def delete(self, artifact_id: UUID) -> None:
        self._path(artifact_id).unlink(missing_ok=True)

    def _path(self, artifact_id: UUID) -> Path:
        # Two levels by the random end of the id keep every folder small.
        return self._root / artifact_id.hex[-2:] / str(artifact_id)

    def _write_bounded(self, path: Path, chunks: Iterable[bytes]) -> StoredBytes:
        digest, size = hashlib.sha256(), 0
        with path.open("wb") as file:
            for chunk in chunks:
                size += len(chunk)
                if size > self.max_bytes:
                    raise ArtifactTooLarge(f"an artifact may have at most {self.max_bytes} bytes")
                digest.update(chunk)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        return StoredBytes(size_bytes=size, sha256=digest.hexdigest())
