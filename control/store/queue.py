"""The queue, read class by class: tasks with the same conditions are one class, named by them."""

from collections.abc import Mapping, Sequence

from sqlalchemy import RowMapping

from control.store.database import Transaction


def queued_classes(tx: Transaction) -> list[str]:
    """Each set of conditions that some queued task has, by name, found by hopping along the queue's index."""
    return tx.value(
        """
        WITH RECURSIVE class AS (
            (SELECT requirement_class FROM scheduled_tasks WHERE status = 'queued'
             ORDER BY requirement_class LIMIT 1)
            UNION ALL
            SELECT (SELECT requirement_class FROM scheduled_tasks
                    WHERE status = 'queued' AND requirement_class > class.requirement_class
                    ORDER BY requirement_class LIMIT 1)
            FROM class WHERE class.requirement_class IS NOT NULL
        )
        SELECT coalesce(array_agg(requirement_class), '{}') FROM class WHERE requirement_class IS NOT NULL
        """
    )


def requirements_of_classes(tx: Transaction, requirement_classes: Sequence[str]) -> Sequence[RowMapping]:
    """The conditions of these classes, as some queued task of each has them."""
    if not requirement_classes:
        return []
    return tx.rows(
        """
        SELECT class.name AS requirement_class, task.requires
        FROM unnest(CAST(:names AS text[])) AS class (name), LATERAL (
            SELECT requires FROM scheduled_tasks WHERE status = 'queued' AND requirement_class = class.name
            ORDER BY requirement_class, priority DESC, created_at, task_id LIMIT 1
        ) AS task
        """,
        names=list(requirement_classes),
    )


def first_of_classes(tx: Transaction, limits: Mapping[str, int]) -> Sequence[RowMapping]:
    """The queued tasks of some classes that go first, by priority, then by age: so many of each."""
    if not limits:
        return []
    return tx.rows(
        """
        SELECT class.name AS requirement_class, task.priority, task.created_at, task.task_id
        FROM unnest(CAST(:names AS text[]), CAST(:limits AS integer[])) AS class (name, most), LATERAL (
            SELECT priority, created_at, task_id FROM scheduled_tasks
            WHERE status = 'queued' AND requirement_class = class.name
            ORDER BY priority DESC, created_at, task_id LIMIT class.most
        ) AS task
        """,
        names=list(limits),
        limits=list(limits.values()),
    )
