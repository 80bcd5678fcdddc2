"""What went wrong and did not matter."""

from collections.abc import Iterable

#: A long `repeat` may warn on every round; nobody reads more.
_MAX_WARNINGS = 50


class WarningList:
    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = list(texts)
        self._more = 0

    def add(self, text: str) -> None:
        if len(self._texts) < _MAX_WARNINGS:
            self._texts.append(text)
        else:
            self._more += 1

    @property
    def texts(self) -> tuple[str, ...]:
        more = (f"and {self._more} more warnings",) if self._more else ()
        return (*self._texts, *more)
