"""Where a run stands in its flow, counted as the flow language counts steps."""

from collections.abc import Callable

from corral.flow.commands.flow_command import FlowCommand
from corral.flow.steps import step_count
from workers.run.result import Checkpoint, RunStatus

#: What the renewal has room for.
_MAX_TEXT_CHARACTERS = 500


class Progress:
    """`finished` is the number of the last step that ended. It goes back when a `retry` begins again."""

    def __init__(self, steps_total: int, on_checkpoint: Callable[[Checkpoint], None]) -> None:
        self.steps_total = steps_total
        self.finished = 0
        self._on_checkpoint = on_checkpoint

    def begin(self, number: int, command: FlowCommand) -> None:
        """`command` is about to begin, as step `number`."""
        self._on_checkpoint(Checkpoint(number, self.steps_total, command.describe()[:_MAX_TEXT_CHARACTERS], "running"))

    def end(self, number: int, command: FlowCommand) -> None:
        """`command`, begun as `number`, is over, with all that it holds: run, skipped or excused."""
        self.finished = number + step_count(command) - 1

    def close(self, status: RunStatus, text: str) -> None:
        self._on_checkpoint(Checkpoint(self.finished, self.steps_total, text[:_MAX_TEXT_CHARACTERS], status))
