"""What Corral takes for granted of Flower itself, which nobody documents."""

import asyncio
import inspect
import re
import threading
from collections.abc import Callable, Coroutine, Iterator
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import httpx
import pytest
from flower.app import Flower
from flower.events import Events
from flower.inspector import Inspector
from flower.options import default_options
from flower.urls import handlers, settings
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.netutil import bind_sockets

from control.flower.captured_events import CapturedEvents
from control.flower.inspections import ANSWERS, inspected_fleet
from control.jobs.celery_app import celery_app
from control.operations.fleet_workers import QUEUE_WORKER, WorkerView
from tests.control.flower.contract import needed_by

USER, PASSWORD = "ann", "a-password-of-ann"
#: What Flower serves to everybody; everything else asks for a password.
OPEN = {"/metrics", "/healthcheck", "/static/x", "/login", "/logout"}
WEB = "control/flower/web.py"


def visit(look: Callable[[Any, httpx.AsyncClient], Coroutine[Any, Any, None]], **options: Any) -> None:
    """Serve Flower's pages without a broker, and look at them."""

    async def serve() -> None:
        usual = {"url_prefix": "", "inspect_timeout": 100.0, "basic_auth": [f"{USER}:{PASSWORD}"], "auth": ""}
        usual |= {"read_only": False, "debug": False, "natural_time": False, "tasks_columns": "name"}
        events = SimpleNamespace(state=SimpleNamespace(tasks={}, workers={}, counter={}))
        app = celery_app("redis://127.0.0.1:1/0", connect_retries=0)
        options_of_flower = SimpleNamespace(**(usual | options))
        flower = Flower(options_of_flower, app, events, IOLoop.current(), **settings)
        flower.update_workers = lambda **_: None
        server, (listener,) = HTTPServer(flower), bind_sockets(0, "127.0.0.1")
        server.add_socket(listener)
        try:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}") as client:
                await look(flower, client)
        finally:
            server.stop()
            await server.close_all_connections()
            flower.executor.shutdown()
            app.close()

    asyncio.run(serve())


def paths() -> Iterator[str]:
    for handler in handlers:
        pattern = handler.regex.pattern if hasattr(handler, "regex") else handler[0]
        if pattern != ".*":
            yield re.sub(r"\(.*\)", "x", pattern).removesuffix("$").removesuffix("/?")


@needed_by(WEB, so_that="nobody reads or cancels tasks in Flower without a password")
def test_every_page_and_every_call_asks_for_the_password_but_those_that_are_known_to_be_open() -> None:
    async def knock(_: Any, client: httpx.AsyncClient) -> None:
        let_in = set[str]()
        for path in paths():
            for method in ("GET", "POST"):
                answer = await client.request(method, path)
                if answer.status_code not in {401, 405}:
                    let_in.add(path)
        assert let_in == OPEN

    visit(knock)


@needed_by(WEB, so_that="a Flower without users is for looking only")
def test_without_users_there_are_pages_without_buttons_and_no_api(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLOWER_UNAUTHENTICATED_API", raising=False)

    async def press(_: Any, client: httpx.AsyncClient) -> None:
        assert (await client.get("/tasks")).status_code == 200
        for path in paths():
            if path.startswith("/api/"):
                assert (await client.post(path)).status_code == 401

    visit(press, basic_auth=[], read_only=True)


@needed_by(WEB, so_that="the buttons of a read-only Flower do nothing even where its API is open")
def test_a_read_only_flower_revokes_nothing() -> None:
    async def press(_: Any, client: httpx.AsyncClient) -> None:
        assert (await client.post("/api/task/revoke/1", auth=(USER, PASSWORD))).status_code == 403

    visit(press, read_only=True)


@needed_by(WEB, so_that="what it sets is what Flower reads")
def test_flower_has_the_options_that_are_set() -> None:
    names = "address port basic_auth read_only url_prefix max_tasks max_workers persistent inspect_timeout"
    for name in (*names.split(), "purge_offline_workers", "tasks_columns"):
        assert hasattr(default_options, name), name
    assert {"login_url", "static_url_prefix"} <= settings.keys()


@needed_by("control/flower/captured_events.py", so_that="its thread takes the place of Flower's own")
def test_flower_takes_its_events_from_a_thread_that_can_be_given_to_it() -> None:
    assert issubclass(Events, threading.Thread)
    assert {"capp", "io_loop", "max_tasks_in_memory"} <= inspect.signature(Events.__init__).parameters.keys()
    assert "events" in inspect.signature(Flower.__init__).parameters
    assert CapturedEvents.run is not Events.run
    assert callable(Events.on_event)


@needed_by("control/flower/inspections.py", so_that="all that Flower asks of a worker is answered for a host")
def test_flowers_page_of_a_worker_can_be_made_of_what_is_answered_for_hosts() -> None:
    assert set(Inspector.inspect_methods) <= set(ANSWERS)
    fields = dict.fromkeys(inspect.signature(WorkerView).parameters)
    fields |= {"name": "rack-a", "host_id": uuid4(), "is_online": True, "is_draining": False, "labels": {"a": "b"}}
    host = WorkerView(**(fields | {"devices": 2, "finished": 7, "running": (), "assigned": ()}))
    asked = inspected_fleet([host], [], broker={"hostname": "redis", "transport": "redis"})

    async def look(flower: Any, client: httpx.AsyncClient) -> None:
        for name in ("rack-a", QUEUE_WORKER):
            for method in Inspector.inspect_methods:
                flower.inspector.workers[name][method] = ANSWERS[method](asked[name])
            page = await client.get(f"/worker/{name}", auth=(USER, PASSWORD))
            assert page.status_code == 200
            assert name in page.text

    visit(look)
