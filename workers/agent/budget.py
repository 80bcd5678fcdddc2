"""How much a turn may cost: steps, tokens, and time. Each limit ends it by its own name."""

from dataclasses import dataclass
from enum import StrEnum

from workers.clock import Clock, boot_seconds


class BudgetKind(StrEnum):
    STEPS = "steps"
    WALL_TIME = "wall_time"
    TOKENS = "tokens"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one turn may use up, its subagents included. None is no limit."""

    steps: int | None = None
    wall_seconds: float | None = None
    tokens: int | None = None


class BudgetSpent(Exception):
    """This turn has used up what it may; end it by the name of what ran out."""

    def __init__(self, kind: BudgetKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Budget:
    """What is left of the limits of one turn."""

    def __init__(self, limits: Limits, *, clock: Clock = boot_seconds) -> None:
        self._limits = limits
        self._clock = clock
        self._started_at = clock()
        self.steps_used = 0
        self.tokens_used = 0

    @property
    def deadline_at(self) -> float | None:
        """When the wall time ends, in boot seconds."""
        wall_seconds = self._limits.wall_seconds
        return None if wall_seconds is None else self._started_at + wall_seconds

    @property
    def left(self) -> Limits:
        """What a subagent may use of it."""
        limits = self._limits
        return Limits(
            steps=None if limits.steps is None else max(limits.steps - self.steps_used, 0),
            wall_seconds=None if self.deadline_at is None else max(self.deadline_at - self._clock(), 0.0),
            tokens=None if limits.tokens is None else max(limits.tokens - self.tokens_used, 0),
        )

    def spend(self, *, steps: int = 0, tokens: int = 0) -> None:
        self.steps_used += steps
        self.tokens_used += tokens

    def check_time(self) -> None:
        """Raises `BudgetSpent` when the wall time is over."""
        if self.deadline_at is not None and self._clock() >= self.deadline_at:
            raise BudgetSpent(BudgetKind.WALL_TIME, f"its {self._limits.wall_seconds:g} s were over")

    def check(self) -> None:
        """Raises `BudgetSpent` when there is nothing left for another step."""
        self.check_time()
        if self._limits.steps is not None and self.steps_used >= self._limits.steps:
            raise BudgetSpent(BudgetKind.STEPS, f"its {self._limits.steps} steps were used up")
        if self._limits.tokens is not None and self.tokens_used >= self._limits.tokens:
            raise BudgetSpent(BudgetKind.TOKENS, f"its {self._limits.tokens} tokens were used up ({self.tokens_used})")
