"""A total time for a call that is made of many receives."""

from workers.clock import boot_seconds


class Deadline:
    """Ends `seconds` after it was made, however often something arrives in between."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends_at = boot_seconds() + seconds

    def remaining_seconds(self) -> float:
        """What is left, always above zero.

        Raises:
            TimeoutError: nothing is left.
        """
        remaining = self._ends_at - boot_seconds()
        if remaining <= 0:
            raise TimeoutError(f"no answer within {self.seconds:g} s")
        return remaining

    @property
    def is_over(self) -> bool:
        return boot_seconds() >= self._ends_at
