"""A flow that has been read and can be run."""

from pydantic import BaseModel, ConfigDict

from corral.flow.commands.union import Command


class Flow(BaseModel):
    """`steps_total` counts as `steps` says. `warnings` name what is accepted and has no effect."""

    model_config = ConfigDict(frozen=True)

    name: str
    app_id: str
    tags: tuple[str, ...] = ()
    commands: tuple[Command, ...]
    steps_total: int
    warnings: tuple[str, ...] = ()
