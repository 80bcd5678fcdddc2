"""When each job last ran: what keeps two beats from working twice, and what tells that none works at all."""

from collections.abc import Mapping
from enum import IntEnum

from control.store.database import Transaction


class Lock(IntEnum):
    """Advisory locks of Postgres by number: work that only one may do at a time."""

    ASSIGN_TASKS = 7_203_010
    REAP_EXPIRED_LEASES = 7_203_011
    LEAD_BRIDGE = 7_203_012
    #: All ids that Celery clients may send and revoke.
    CELERY_IDS = 7_203_021
    #: One of them, as the seed of its hash.
    CELERY_ID = 7_203_020


def wait_for_lock(tx: Transaction, lock: Lock) -> None:
    """Hold the lock until the end of the transaction, after whoever holds it now."""
    tx.run("SELECT pg_advisory_xact_lock(:lock)", lock=int(lock))


def try_lock(tx: Transaction, lock: Lock) -> bool:
    """Hold the lock until the end of the transaction; False where somebody else does."""
    return bool(tx.value("SELECT pg_try_advisory_xact_lock(:lock)", lock=int(lock)))


def claim_run(tx: Transaction, name: str, *, period_seconds: float, ran_by: str) -> bool:
    """Take the run that is due now; False where it is not due yet, or somebody took it."""
    return bool(
        tx.run(
            """
            INSERT INTO job_runs AS run (name, last_run_at, unbroken_since, ran_by)
            VALUES (:name, corral_now(), corral_now(), :ran_by)
            ON CONFLICT (name) DO UPDATE SET last_run_at = corral_now(), ran_by = :ran_by
            WHERE run.last_run_at < corral_now() - make_interval(secs => :period)
            """,
            name=name,
            ran_by=ran_by,
            # Beat's ticks wander by some milliseconds: a run that is due in a moment is due.
            period=period_seconds * 0.8,
        )
    )


def note_alive(tx: Transaction, name: str, *, gap_seconds: float, ran_by: str) -> None:
    """Write down that `name` is alive; a silence longer than the gap begins its unbroken time anew."""
    tx.run(
        """
        INSERT INTO job_runs AS run (name, last_run_at, unbroken_since, ran_by)
        VALUES (:name, corral_now(), corral_now(), :ran_by)
        ON CONFLICT (name) DO UPDATE SET last_run_at = corral_now(), ran_by = :ran_by, unbroken_since = CASE
            WHEN run.last_run_at < corral_now() - make_interval(secs => :gap) THEN corral_now()
            ELSE run.unbroken_since END
        """,
        name=name,
        ran_by=ran_by,
        gap=gap_seconds,
    )


def is_unbroken(tx: Transaction, name: str, *, for_seconds: float, gap_seconds: float) -> bool:
    """Whether `name` has been alive for that long without a gap, until now."""
    return bool(
        tx.value(
            """
            SELECT EXISTS (SELECT 1 FROM job_runs WHERE name = :name
                AND last_run_at >= corral_now() - make_interval(secs => :gap)
                AND unbroken_since <= corral_now() - make_interval(secs => :unbroken))
            """,
            name=name,
            gap=gap_seconds,
            unbroken=for_seconds,
        )
    )


def overdue(tx: Transaction, limits_seconds: Mapping[str, float]) -> list[str]:
    """The jobs that last ran longer ago than their limit, or never."""
    rows = tx.rows(
        """
        SELECT job.name FROM unnest(CAST(:names AS text[]), CAST(:limits AS float8[])) AS job (name, seconds)
        LEFT JOIN job_runs AS run USING (name)
        WHERE run.last_run_at IS NULL OR run.last_run_at < corral_now() - make_interval(secs => job.seconds)
        """,
        names=list(limits_seconds),
        limits=list(limits_seconds.values()),
    )
    return [row["name"] for row in rows]
