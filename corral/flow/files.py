"""The files submitted with a flow, by the path that `runFlow: file:` gives."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass

from corral.flow.errors import FlowFileMissing, Place

_SHOWN_FILES = 20


@dataclass(frozen=True)
class FlowFiles:
    """Paths are relative to the folder that everything was submitted from; no path leads out of it."""

    sources: Mapping[str, str]

    @classmethod
    def of(cls, sources: Mapping[str, str]) -> "FlowFiles":
        """Raises `FlowFileMissing` for a path that is absolute, leads out, or names a file twice."""
        by_path: dict[str, str] = {}
        for path, source in sources.items():
            normal = _normal(path, Place(path or "(no name)"))
            if normal in by_path:
                raise FlowFileMissing(f"`{path}` was submitted twice, under two spellings", Place(path))
            by_path[normal] = source
        return cls(by_path)

    def resolve(self, path: str, place: Place) -> str:
        """The submitted path that `path` means in the file at `place`. Raises `FlowFileMissing`."""
        resolved = _normal(path, place, folder=posixpath.dirname(place.file))
        if resolved not in self.sources:
            known = sorted(self.sources)
            submitted = ", ".join(known[:_SHOWN_FILES]) or "none"
            message = f"the file `{resolved}` was not submitted; submitted were: {submitted}"
            raise FlowFileMissing(message, place, given=resolved, allowed=known[:_SHOWN_FILES])
        return resolved


def _normal(path: str, place: Place, *, folder: str = "") -> str:
    if not path or "\\" in path or "\0" in path or posixpath.isabs(path):
        raise FlowFileMissing(f"`{path[:100]}` is no relative path with `/`", place)
    normal = posixpath.normpath(posixpath.join(folder, path))
    if normal == "." or normal.split("/")[0] == "..":
        raise FlowFileMissing(f"`{path[:100]}` leads out of the folder that was submitted", place)
    return normal
