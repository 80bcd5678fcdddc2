"""The first tasks of many classes, merged."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given, strategies as st

from control.domain.queue_order import Head, QueueOrder

#: Class, priority, and how old.
TASKS = st.lists(st.tuples(st.sampled_from("abcde"), st.integers(-1, 1), st.integers(0, 9)), max_size=60)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Queue:
    def __init__(self, tasks: list[tuple[str, int, int]]) -> None:
        heads = [
            Head(name, priority, NOON - timedelta(minutes=age), UUID(int=number))
            for number, (name, priority, age) in enumerate(tasks, start=1)
        ]
        self.heads = sorted(heads, key=lambda head: (-head.priority, head.created_at, head.task_id))
        self.reads: list[Mapping[str, int]] = []

    def read(self, limits: Mapping[str, int]) -> Iterator[Head]:
        self.reads.append(dict(limits))
        for name, limit in limits.items():
            yield from [head for head in self.heads if head.requirement_class == name][:limit]


def taken(order: QueueOrder, count: int) -> list[Head]:
    heads: list[Head] = []
    while len(heads) < count and (head := order.pop()):
        heads.append(head)
        order.advance(head.requirement_class)
    return heads


@given(TASKS, st.integers(0, 60))
def test_tasks_come_urgent_before_old_before_young_whatever_their_class(
    tasks: list[tuple[str, int, int]], count: int
) -> None:
    queue = Queue(tasks)
    assert taken(QueueOrder(queue.read, dict.fromkeys("abcde", 60)), count) == queue.heads[:count]


def test_a_class_that_is_not_advanced_stands_in_nobodys_way_and_is_not_read_again() -> None:
    queue = Queue([("a", 0, 0)] * 50 + [("b", 0, 0)] * 30)
    order = QueueOrder(queue.read, {"a": 50, "b": 30})
    assert order.pop() == queue.heads[0]
    assert [head.requirement_class for head in taken(order, 30)] == ["b"] * 30
    assert order.pop() is None
    assert all("a" not in limits for limits in queue.reads[1:])


def test_no_more_is_read_than_could_be_wanted() -> None:
    queue = Queue([("a", 0, 0)] * 50)
    assert len(taken(QueueOrder(queue.read, {"a": 3}), 50)) == 3
    assert queue.reads == [{"a": 3}]
