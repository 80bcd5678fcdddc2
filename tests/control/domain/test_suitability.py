"""Which classes of tasks suit which label sets."""

from hypothesis import given, strategies as st

from control.domain.suitability import Crowding, Suitability, numbers_in
from corral.contract.tasks import Requirement


def test_label_sets_that_come_later_are_looked_at_too() -> None:
    suitability = Suitability()
    suitability.learn_class("pixels", [Requirement(label="model", value="Pixel 8")])
    suitability.learn_set("first", {"model": "Pixel 8"})
    assert suitability.suiting("pixels", 0b1) == 0b1
    suitability.learn_set("second", {"model": "Pixel 9"})
    suitability.learn_set("third", {"model": "Pixel 8"})
    assert suitability.unknown_sets(["first", "third", "fourth"]) == ["fourth"]
    assert suitability.suiting("pixels", 0b111) == 0b101
    assert suitability.suiting("pixels", 0b110) == 0b100


def test_a_memory_that_has_grown_too_large_begins_anew() -> None:
    suitability = Suitability()
    for number in range(20_001):
        suitability.learn_set(number, {})
    suitability.begin_pass()
    assert suitability.unknown_sets([7]) == [7]
    suitability.learn_set(7, {})
    assert suitability.number(7) == 0


@given(st.lists(st.sets(st.integers(0, 90), max_size=8), max_size=40), st.sets(st.integers(0, 90), min_size=1))
def test_the_least_wanted_label_set_is_the_one_that_the_fewest_classes_suit(
    classes: list[set[int]], among: set[int]
) -> None:
    crowding = Crowding(sum(1 << number for number in suited) for suited in classes)
    chosen = crowding.least_wanted(sum(1 << number for number in among))
    wanted = {number: sum(number in suited for suited in classes) for number in among}
    assert chosen == min(among, key=lambda number: (wanted[number], number))


@given(st.sets(st.integers(0, 300)))
def test_a_collection_tells_its_numbers_in_order(numbers: set[int]) -> None:
    assert list(numbers_in(sum(1 << number for number in numbers))) == sorted(numbers)
