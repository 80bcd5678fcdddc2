"""Hand out what an agent's session left in its folder: its logs, and the pictures that its model saw."""

import asyncio
from pathlib import Path

from corral.contract.goals import GoalUsage
from workers.agent.session.events import StepEnd
from workers.agent.session.reading import read_session
from workers.run.artifacts import OnArtifact

#: The log of the agent itself; those of its subagents have names of their own beside it.
LOG_NAME = "agent-session.jsonl"
_NDJSON = "application/x-ndjson"
_PNG = "image/png"
#: The latest pictures matter most, and a run of hundreds of steps has hundreds.
MAX_IMAGES = 100
#: Whoever stopped a run waits for its report, and the report for these.
MAX_IMAGES_OF_STOPPED = 3


async def usage_of(folder: Path) -> GoalUsage:
    """What the model was asked for by the agent and by its subagents, as their logs have it."""
    ends = await asyncio.to_thread(_step_ends, folder)
    return GoalUsage(
        input_tokens=sum(end.input_tokens for end in ends), output_tokens=sum(end.output_tokens for end in ends)
    )


async def hand_out_logs(folder: Path, on_artifact: OnArtifact, *, max_images: int = MAX_IMAGES) -> None:
    """Hands out every log and the latest pictures."""
    for path, name, media_type in await asyncio.to_thread(_files, folder, max_images):
        await on_artifact(name, await asyncio.to_thread(path.read_bytes), media_type)


def _step_ends(folder: Path) -> list[StepEnd]:
    return [event for path in _logs(folder) for event in read_session(path) if isinstance(event, StepEnd)]


def _logs(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jsonl"))


def _files(folder: Path, max_images: int) -> list[tuple[Path, str, str]]:
    logs = [(path, path.name, _NDJSON) for path in _logs(folder)]
    # By name, which is of the content: what an agent and its child have both seen is one picture.
    pictures = {path.name: path for path in sorted(folder.glob("*.images/*.png"), key=_written_at)}
    latest = list(pictures.values())[-max_images:]
    return [*logs, *((path, f"screen-{path.stem[:16]}.png", _PNG) for path in latest)]


def _written_at(path: Path) -> int:
    return path.stat().st_mtime_ns
