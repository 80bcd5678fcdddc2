"""How long a run looks for something."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LookupTimes:
    """Maestro's times. Each look-up has its full time, counted from its own beginning."""

    #: Until an element is there.
    element_seconds: float = 17.0

    #: Until an element of an optional command is there, an element is gone, or a `when` is decided.
    optional_seconds: float = 7.0

    #: Between two looks. A look at a real phone takes a second by itself.
    poll_seconds: float = 0.3
