"""Which classes of tasks suit which label sets, for many of both, and which of the sets the fewest classes want.

A label set is what devices that are alike have in common. Each that was seen gets a number, and a collection of them is
a whole number whose bits are theirs, so that a thousand classes and a thousand sets cost a thousand operations.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from control.domain.requirements import unmet
from corral.contract.tasks import Requirement

#: So many label sets and classes are remembered; a process that has seen more of either begins anew.
MAX_REMEMBERED = 20_000

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(slots=True)
class _Class:
    requires: Sequence[Requirement]
    suiting: int = 0
    #: The label sets that were looked at already.
    seen: int = 0


class Suitability:
    """A memory of what suits what. It never goes stale: classes and label sets are named by what they contain.

    For one pass at a time: `begin_pass` may forget all that an earlier one numbered.
    """

    def __init__(self) -> None:
        self._classes: dict[str, _Class] = {}
        self._numbers: dict[Hashable, int] = {}
        self._labels: list[Mapping[str, str]] = []

    def begin_pass(self) -> None:
        if max(len(self._classes), len(self._labels)) > MAX_REMEMBERED:
            self._classes.clear()
            self._numbers.clear()
            self._labels.clear()

    def unknown_classes(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if name not in self._classes]

    def learn_class(self, name: str, requires: Sequence[Requirement]) -> None:
        self._classes.setdefault(name, _Class(requires))

    def unknown_sets(self, keys: Iterable[_Key]) -> list[_Key]:
        return [key for key in keys if key not in self._numbers]

    def learn_set(self, key: Hashable, labels: Mapping[str, str]) -> None:
        self._numbers.setdefault(key, len(self._labels))
        self._labels.append(labels)

    def number(self, key: Hashable) -> int:
        """The number of a label set that was learned in this pass or before."""
        return self._numbers[key]

    def asked_labels(self, names: Iterable[str]) -> set[str]:
        """The labels that some of these classes has a condition on."""
        return {one.label for name in names for one in self._classes[name].requires}

    def suiting(self, name: str, present: int) -> int:
        """Those of the `present` label sets that fulfil all conditions of a class."""
        known = self._classes[name]
        unseen = present & ~known.seen
        for number in numbers_in(unseen):
            if not unmet(known.requires, self._labels[number]):
                known.suiting |= 1 << number
        known.seen |= unseen
        return known.suiting & present


class Crowding:
    """How many classes could use each label set, counted for all sets at once: plane `i` has bit `i` of every count."""

    def __init__(self, suiting: Iterable[int]) -> None:
        self._planes: list[int] = []
        for sets in suiting:
            self._add(sets)

    def least_wanted(self, sets: int) -> int:
        """The number of the one among these label sets that the fewest classes could use; of several, the first."""
        for plane in reversed(self._planes):
            sets = sets & ~plane or sets
        return _first(sets)

    def _add(self, carry: int) -> None:
        for place, plane in enumerate(self._planes):
            self._planes[place], carry = plane ^ carry, plane & carry
            if not carry:
                return
        if carry:
            self._planes.append(carry)


def numbers_in(sets: int) -> Iterator[int]:
    """The numbers of the label sets in a collection, from the lowest up."""
    while sets:
        yield _first(sets)
        sets &= sets - 1


def _first(sets: int) -> int:
    return (sets & -sets).bit_length() - 1
