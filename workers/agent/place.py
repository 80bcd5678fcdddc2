"""Where in the life of an agent something happens."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """`turn` and `step` count from 1; `step` is 0 outside of steps."""

    turn: int
    step: int = 0
