"""Notice an agent that does the same thing over and over."""

#: Twice can be a double tap in two calls; at the third time the planner is told.
HINT_AFTER = 3
#: A planner that does not take the hint is not going to.
END_AFTER = 5


class Stuck(Exception):
    """The same action was done on the same screen again and again; end the turn."""


class Repeats:
    """Counts how often in a row one action was done on one screen."""

    def __init__(self) -> None:
        self._key: str | None = None
        self._count = 0

    def add(self, key: str) -> None:
        self._count = self._count + 1 if key == self._key else 1
        self._key = key

    @property
    def hint(self) -> str | None:
        """What to tell the planner, when it is time to."""
        if self._count < HINT_AFTER:
            return None
        return (
            f"You did this {self._count} times in a row on this very screen, and nothing changed. "
            f"Do something else: after {END_AFTER} times the run ends."
        )

    def check(self) -> None:
        """Raises `Stuck` when no hint has helped."""
        if self._count >= END_AFTER:
            raise Stuck(f"the same action was done {self._count} times in a row on the same screen")
