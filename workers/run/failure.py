"""Why a step failed."""

from workers.device.outcome import ErrorCode


class StepFailed(Exception):
    """This step failed; the message says why.

    `code` is the device's, or `not_found` where the screen was not as the flow says. `is_unknown`: the action may have
    happened all the same, so it is not tried again.
    """

    def __init__(self, message: str, *, code: ErrorCode, is_unknown: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.is_unknown = is_unknown

    @property
    def is_infrastructure(self) -> bool:
        """The device failed, or the right to touch it was lost: no fault of the flow."""
        return self.code.ends_a_run

    @property
    def is_not_seen(self) -> bool:
        """The screen was read, and is not as it should be."""
        return self.code is ErrorCode.NOT_FOUND

    @property
    def can_be_excused(self) -> bool:
        """May be a warning, if the step is optional."""
        return not self.is_infrastructure

    @property
    def can_be_retried(self) -> bool:
        return not self.is_infrastructure and not self.is_unknown
