"""Regular expressions of selectors, with what keeps them from freezing a host.

Python's `re` backtracks and holds the interpreter while it does, so one bad pattern could stop the renewals of every
task on the host. Therefore a pattern is short, what backtracks exponentially (something variable inside a repetition,
as in `(a+)+`; many choices in a row, as in `a?a?a?…`) is refused, and a pattern with many open repetitions meets only
the beginning of a long text.
"""

import importlib
import math
import re
import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from corral.flow.limits import MAX_PATTERN_CHARACTERS

#: So many steps take about a fifth of a second. Trying all of a text of n characters with k open repetitions takes
#: about n**k / k! of them, and that again for each way through the choices (`|`, `?`) of the pattern.
_MAX_STEPS = 10**7
#: Each of these ways may cost as many steps as the pattern has parts.
_MAX_WAYS = 10**5
_MAX_OPEN_REPETITIONS = 4
_LONGEST_TEXT_CHARACTERS = 10_000
#: A pattern that could only be tried on less than this would be of no use.
_SHORTEST_TEXT_CHARACTERS = 50

# There is no public parser of regular expressions; this one is what `re` itself uses.
_parser: Any = importlib.import_module("re._parser")
_codes: Any = importlib.import_module("re._constants")

_SPECIAL = frozenset(r".^$*+?{}[]\|()")
_FLAGS = re.IGNORECASE | re.DOTALL | re.MULTILINE
_REPETITIONS: frozenset[Any] = frozenset({_codes.MAX_REPEAT, _codes.MIN_REPEAT, _codes.POSSESSIVE_REPEAT})
_ASSERTIONS: frozenset[Any] = frozenset({_codes.ASSERT, _codes.ASSERT_NOT})
#: `(\d{1,3}\.){3}` is harmless, for what is repeated so few times is as if it were written out.
_FEW = 3


class InvalidPattern(ValueError):
    """This cannot be used as a regular expression; the message says why."""


@dataclass(frozen=True)
class TextPattern:
    """A regular expression that matches in full, whatever the case; `.` matches newlines, `^` and `$` at lines."""

    source: str
    matched_chars: int

    @classmethod
    def checked(cls, source: str) -> "TextPattern":
        """Raises `InvalidPattern`."""
        if len(source) > MAX_PATTERN_CHARACTERS:
            raise InvalidPattern(f"has {len(source):,} characters; a pattern may have {MAX_PATTERN_CHARACTERS}")
        if not _SPECIAL.intersection(source):
            return cls(source, _LONGEST_TEXT_CHARACTERS)
        try:
            with _quietly():
                parsed = _parser.parse(source, int(_FLAGS))
        except (re.error, OverflowError, RecursionError) as error:
            raise InvalidPattern(f"is not a regular expression ({error}); a special character needs a `\\`") from error
        return cls(source, _matched_chars(_count_open_repetitions(parsed), _ways(parsed)))

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Compiled when a screen is there to be matched: that takes fifty times as long as checking."""
        with _quietly():
            return re.compile(self.source, _FLAGS)

    def matches_text(self, text: str) -> bool:
        """A full match, or the very text of the pattern; newlines may also be spaces."""
        cut = text[: self.matched_chars]
        if cut == self.source or self.regex.fullmatch(cut):
            return True
        flat = cut.replace("\n", " ")
        return flat != cut and (flat == self.source or self.regex.fullmatch(flat) is not None)

    def matches_id(self, resource_id: str) -> bool:
        """A full match of the whole resource id, or of the part after its last `/`."""
        cut = resource_id[: self.matched_chars]
        return any(self.regex.fullmatch(part) is not None for part in (cut, cut.rpartition("/")[2]))


@contextmanager
def _quietly() -> Generator[None, None, None]:
    """`[[` may change its meaning in a later Python; nothing that the author of a flow could act upon."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _matched_chars(open_repetitions: int, ways: int) -> int:
    """How much of a text is looked at."""
    chars = _LONGEST_TEXT_CHARACTERS
    if open_repetitions:
        steps = min(_MAX_STEPS * math.factorial(open_repetitions) / ways, _LONGEST_TEXT_CHARACTERS**open_repetitions)
        chars = int(steps ** (1 / open_repetitions))
    if ways > _MAX_WAYS or chars < _SHORTEST_TEXT_CHARACTERS:
        raise InvalidPattern(f"has {min(ways, 10**9):,} or more ways to match, which can take forever")
    return chars


def _ways(parsed: Any) -> int:
    """In how many ways the choices of a pattern can be made; open repetitions are counted elsewhere."""
    if not isinstance(parsed, _parser.SubPattern):
        return math.prod(_ways(part) for part in (parsed if type(parsed) in {tuple, list} else ()))
    return math.prod(_ways_of_operation(operation, argument) for operation, argument in parsed)


def _ways_of_operation(operation: Any, argument: Any) -> int:
    if operation == _codes.BRANCH:
        return sum(_ways(alternative) for alternative in argument[1])
    if operation not in _REPETITIONS:
        return _ways(argument)
    least, most, repeated = argument
    once = _ways(repeated)
    if most - least > _FEW:
        return once
    return sum(once**times for times in range(int(least), int(most) + 1)) if once > 1 else int(most - least) + 1


def _count_open_repetitions(parsed: Any) -> int:
    count = sum(_open_repetitions(parsed, times=1))
    if count > _MAX_OPEN_REPETITIONS:
        raise InvalidPattern(f"has {count} open repetitions (`*`, `+`, `{{n,}}`); {_MAX_OPEN_REPETITIONS} are allowed")
    return count


def _open_repetitions(parsed: Any, *, times: int) -> Iterator[int]:
    """For each open repetition, how often it is there; `times` is how often what surrounds it is repeated."""
    if not isinstance(parsed, _parser.SubPattern):
        for part in parsed if type(parsed) in {tuple, list} else ():
            yield from _open_repetitions(part, times=times)
        return
    for operation, argument in parsed:
        if operation in _ASSERTIONS and argument[0] < 0 and len(set(argument[1].getwidth())) > 1:
            raise InvalidPattern("is not a regular expression (look-behind requires fixed-width pattern)")
        is_repetition = operation in _REPETITIONS
        is_variable = operation == _codes.BRANCH or (is_repetition and argument[0] != argument[1])
        if is_variable and times > _FEW:
            raise InvalidPattern("has something variable inside a repetition, which can take forever to match")
        if is_repetition and argument[1] - argument[0] > _FEW:
            yield times
        yield from _open_repetitions(argument, times=times * int(argument[1]) if is_repetition else times)
