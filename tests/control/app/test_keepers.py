"""What an API process does unasked."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import psycopg
import pytest
from prometheus_client import REGISTRY

from control.app import keepers
from control.app.keepers import RAN_BY, drop_revoked, run_overdue, show_life, watch_sweeps
from control.jobs.schedule import JobQueue, ScheduledJob, scheduled_jobs
from control.operations.cadence import overdue_jobs, run_if_due
from control.operations.hosts import revoke_host
from control.operations.keys import create_api_key, id_of_host, id_of_key, revoke_api_key
from control.operations.plane import Plane, Timing
from corral.contract.fleet import Scope
from tests.control.fleet import Fleet

DEADLINE_SECONDS = 15.0


def sweep(name: str, operation: Callable[[Plane], int]) -> ScheduledJob:
    return ScheduledJob(name, JobQueue.JOBS, 60.0, operation)


def ran_by(plane: Plane) -> dict[str, str]:
    with plane.database.transaction() as tx:
        return {row["name"]: row["ran_by"] for row in tx.rows("SELECT name, ran_by FROM job_runs")}


def test_a_sweep_that_nobody_runs_is_run_here_once(plane: Plane):
    runs: list[str] = []
    dead = sweep("dead", lambda _: runs.append("dead") or 1)
    alive = sweep("alive", lambda _: runs.append("alive") or 1)
    run_if_due(plane, "alive", period_seconds=60, ran_by="beat", operation=lambda _: 0)
    assert run_overdue(plane, [dead, alive]) == ["dead"]
    assert run_overdue(plane, [dead, alive]) == []
    assert runs == ["dead"]
    assert ran_by(plane) == {"dead": RAN_BY, "alive": "beat"}
    counted = [
        REGISTRY.get_sample_value("corral_sweeps_run_by_api_total", {"job_name": job}) for job in ("dead", "alive")
    ]
    assert counted == [1, None]


def test_a_sweep_that_fails_does_not_keep_the_others_from_running(plane: Plane):
    def fail(_: Plane) -> int:
        raise RuntimeError("broken")

    assert run_overdue(plane, [sweep("broken", fail), sweep("fine", lambda _: 0)]) == ["fine"]


def test_with_beat_dead_a_task_is_assigned_all_the_same(plane: Plane, fleet: Fleet):
    host = fleet.host()
    fleet.submit()
    assert "assign_tasks" in run_overdue(plane, scheduled_jobs(plane.timing))
    assert host.claim() is not None


def test_keepers_live_through_an_outage_of_postgres(plane: Plane, database_url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(keepers, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(keepers, "WATCH_SECONDS", 0.05)
    quick = replace(plane, timing=Timing(lease_seconds=0.3))
    job = sweep("swept", lambda _: 0)

    async def story() -> None:
        tasks = [
            asyncio.create_task(show_life(quick, is_renewing=renewing)),
            asyncio.create_task(watch_sweeps(quick, [job])),
        ]
        async with asyncio.timeout(DEADLINE_SECONDS):
            await until(lambda: ran_by(plane).keys() == {"api", "swept"})
            admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
            cut()
            await asyncio.sleep(0.3)
            assert not any(task.done() for task in tasks)
            admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
            with plane.database.transaction() as tx:
                tx.run("DELETE FROM job_runs")
            await until(lambda: ran_by(plane).keys() == {"api", "swept"})
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    def cut() -> None:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()",
            [name],
        )

    address, _, name = database_url.rpartition("/")
    with psycopg.connect(f"{address}/postgres", autocommit=True) as admin:
        asyncio.run(story())
    assert overdue_jobs(plane, {"api": 60.0, "swept": 60.0}) == []


def test_what_was_revoked_is_dropped_once_though_no_word_of_it_came(
    plane: Plane, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(keepers, "REVOKED_SECONDS", 0.02)
    keys = [create_api_key(plane, name=name, scopes=[Scope.TASKS_READ]).key_id for name in ("early", "late", "kept")]
    host_id = fleet.host().host_id
    dropped: list[str] = []

    async def story() -> None:
        keeper = asyncio.create_task(drop_revoked(plane, dropped.append))
        async with asyncio.timeout(DEADLINE_SECONDS):
            revoke_api_key(plane, keys[0])
            revoke_host(plane, host_id)
            await until(lambda: len(dropped) >= 2)
            revoke_api_key(plane, keys[1])
            await until(lambda: len(dropped) >= 3)
        keeper.cancel()
        await asyncio.wait([keeper])

    asyncio.run(story())
    assert sorted(dropped) == sorted([id_of_key(keys[0]), id_of_host(host_id), id_of_key(keys[1])])


async def renewing() -> bool:
    return True


async def until(condition: Callable[[], bool]) -> None:
    while not await asyncio.to_thread(condition):  # noqa: ASYNC110 - what is waited for happens in Postgres
        await asyncio.sleep(0.02)
