"""The page of metrics: what the process counted, and the fleet, also while Postgres is away."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import httpx
import pytest
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from control.api import fleet_gauges
from control.api.fleet_gauges import FleetGauges
from control.operations.plane import Plane
from control.store.database import Database
from corral.metrics_server import exposition

PERIODS = {"purge": 60.0, "never_ran": 2.0}


def gauges(plane: Plane) -> FleetGauges:
    return FleetGauges(plane, periods_seconds=PERIODS, is_redis_connected=lambda: True)


def samples(page: bytes) -> dict[tuple[str, str], float]:
    return {
        (sample.name, next(iter(sample.labels.values()), "")): sample.value
        for family in text_string_to_metric_families(page.decode())
        for sample in family.samples
    }


def failed() -> float:
    return REGISTRY.get_sample_value("corral_fleet_looks_failed_total") or 0


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[threading.Event]]:
    """Each look adds an event, and hangs until it is set."""
    begun: list[threading.Event] = []

    def hang(_plane: Plane) -> None:
        begun.append(threading.Event())
        begun[-1].wait(10)
        raise ConnectionError

    monkeypatch.setattr(fleet_gauges, "count_fleet", hang)
    monkeypatch.setattr(fleet_gauges, "PATIENCE_SECONDS", 0.05)
    yield begun
    for event in begun:
        event.set()


def test_one_page_shows_the_process_and_the_fleet(api: httpx.Client) -> None:
    answer = api.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    names = [family.name for family in text_string_to_metric_families(answer.text)]
    assert {"corral_renewals", "corral_tasks", "corral_leases", "corral_job_age_seconds"} <= set(names)
    assert len(names) == len(set(names))


def test_a_job_that_never_ran_is_infinitely_old(plane: Plane) -> None:
    shown = samples(asyncio.run(gauges(plane).page()))
    assert shown["corral_job_age_seconds", "never_ran"] == float("inf")
    assert shown["corral_job_period_seconds", "purge"] == 60
    assert shown["corral_tasks", "queued"] == 0
    assert shown["corral_redis_is_connected", ""] == 1


def test_many_scrapes_are_one_look(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Plane] = []
    look: Callable[..., object] = fleet_gauges.count_fleet
    monkeypatch.setattr(fleet_gauges, "count_fleet", lambda plane: looks.append(plane) or look(plane))
    page = gauges(plane).page

    async def scrapes() -> list[bytes]:
        return [*await asyncio.gather(*(page() for _ in range(5))), await page()]

    assert len(set(asyncio.run(scrapes()))) == 1
    assert len(looks) == 1


def test_without_postgres_the_page_answers_without_the_fleet(plane: Plane) -> None:
    away = Database.connect("postgresql://nobody@127.0.0.1:1/none", pool_size=1, application_name="test")
    before = failed()
    shown = samples(asyncio.run(gauges(replace(plane, database=away)).page()))
    assert ("corral_tasks", "queued") not in shown
    assert ("corral_job_age_seconds", "purge") not in shown
    assert shown["corral_redis_is_connected", ""] == 1
    assert failed() == before + 1
    assert b"corral_fleet_looks_failed_total" in exposition()
    away.close()


def test_a_look_that_hangs_is_waited_for_a_moment_and_has_no_second_beside_it(
    plane: Plane, looks: list[threading.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_gauges, "MAX_AGE_SECONDS", 0.0)
    page = gauges(plane).page
    before = failed()

    async def scrapes() -> None:
        for _ in range(3):
            assert b"corral_tasks" not in await page()
        looks[0].set()

    asyncio.run(scrapes())
    assert len(looks) == 1
    assert failed() == before + 3


def test_a_route_shows_its_failures_before_the_first(api: httpx.Client) -> None:
    page = api.get("/metrics").text
    for route in ("/v1/tasks", "/internal/v1/hosts/{host_id}/claim"):
        assert f'corral_http_request_seconds_count{{route="{route}",status="5xx"}}' in page
