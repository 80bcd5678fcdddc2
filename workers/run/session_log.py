"""Hand out what an agent's session left in its folder: its logs, and the pictures that its model saw."""

import asyncio
from pathlib import Path

from workers.run.artifacts import OnArtifact

#: The log of the agent itself; those of its subagents have names of their own beside it.
LOG_NAME = "agent-session.jsonl"
_NDJSON = "application/x-ndjson"
_PNG = "image/png"
#: The latest pictures matter most, and a run of hundreds of steps has hundreds.
MAX_IMAGES = 100


async def hand_out_logs(folder: Path, on_artifact: OnArtifact) -> list[str]:
    """Hands out every log and the latest pictures, and returns their names."""
    names: list[str] = []
    for path, name, media_type in await asyncio.to_thread(_files, folder):
        await on_artifact(name, await asyncio.to_thread(path.read_bytes), media_type)
        names.append(name)
    return names


def _files(folder: Path) -> list[tuple[Path, str, str]]:
    logs = [(path, path.name, _NDJSON) for path in sorted(folder.glob("*.jsonl"))]
    pictures = sorted(folder.glob("*.images/*.png"), key=lambda path: path.stat().st_mtime_ns)[-MAX_IMAGES:]
    return [*logs, *((path, f"screen-{path.stem[:16]}.png", _PNG) for path in pictures)]
