"""Why a script was refused."""


class InvalidScript(Exception):
    """This script cannot be played as it is written. `step` is counted from 1, in the order of the text."""

    def __init__(self, message: str, *, line: int | None = None, step: int | None = None) -> None:
        self.message = message
        self.line = line
        self.step = step
        place = ", ".join(f"{word} {number}" for word, number in (("line", line), ("step", step)) if number is not None)
        super().__init__(f"{place}: {message}" if place else message)
