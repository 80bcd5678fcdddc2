"""The claim's long poll: woken by a wake-up, ended by its hold, and never for a host that has hung up."""

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import httpx
import pytest

from control.operations.plane import Plane
from control.signals.listener import WakeupListener
from tests.control.api.calls import DEADLINE_SECONDS, CallingHost, raw_claim, until
from tests.control.fleet import Fleet, RecordedWakeups


@pytest.fixture
def background() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def connected(api: httpx.Client) -> bool:
    return api.get("/readyz").json()["redis"] == "ok"


def waiting(listener: WakeupListener, host: CallingHost) -> int:
    return len(listener._waiters.get(host.host_id, ()))


def test_a_claim_finds_what_was_assigned_before_it(api: httpx.Client, fleet: Fleet):
    host = CallingHost.enrol(api)
    task_id = fleet.submit()
    fleet.assign()
    answer = host.claim(wait_ms=25_000).json()
    assert answer["assignment"]["task_id"] == str(task_id)
    assert answer["held_ms"] < 5_000


def test_a_held_claim_is_woken_by_the_assignment(
    api: httpx.Client, listener: WakeupListener, fleet: Fleet, background: ThreadPoolExecutor
):
    host, other = CallingHost.enrol(api), CallingHost.enrol(api)
    other.beat(devices=[])
    until(lambda: connected(api))
    poll = background.submit(host.claim, wait_ms=25_000)
    until(lambda: waiting(listener, host))
    until(lambda: "\ncorral_held_claims 1.0\n" in api.get("/metrics").text)
    assigned_at = time.monotonic()
    task_id = fleet.submit()
    assert fleet.assign() == 1
    answer = poll.result(DEADLINE_SECONDS).json()
    assert answer["assignment"]["task_id"] == str(task_id)
    # Well before it would have looked again by itself.
    assert time.monotonic() - assigned_at < 4.0
    assert 0 <= answer["held_ms"] <= 25_000
    until(lambda: "\ncorral_held_claims 0.0\n" in api.get("/metrics").text)


def test_a_claim_that_finds_nothing_ends_with_its_hold(api: httpx.Client):
    started = time.monotonic()
    answer = CallingHost.enrol(api).claim(wait_ms=150).json()
    assert answer["assignment"] is None
    assert answer["held_ms"] >= 150
    assert time.monotonic() - started < 10


def test_the_same_claim_again_is_the_same_assignment(api: httpx.Client, fleet: Fleet):
    host = CallingHost.enrol(api)
    body = host.claim_body(wait_ms=0)
    fleet.submit()
    fleet.assign()
    first, again = (host.post(f"hosts/{host.host_id}/claim", body).json() for _ in range(2))
    assert first["assignment"]["lease_id"] == again["assignment"]["lease_id"]


def test_an_abandoned_poll_claims_nothing(
    api: httpx.Client, listener: WakeupListener, fleet: Fleet, user: dict[str, str]
):
    host = CallingHost.enrol(api)
    until(lambda: connected(api))
    address = (api.base_url.host, api.base_url.port)
    with socket.create_connection(address) as abandoned:
        abandoned.sendall(raw_claim(host))
        until(lambda: waiting(listener, host))
    task_id = fleet.submit()
    fleet.assign()
    until(lambda: not waiting(listener, host))
    assert api.get(f"/v1/tasks/{task_id}", headers=user).json()["status"] == "assigned"
    assert host.claim().json()["assignment"]["task_id"] == str(task_id)


def test_held_claims_find_what_no_wake_up_told_them_of(
    api: httpx.Client,
    listener: WakeupListener,
    plane: Plane,
    background: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("control.signals.listener.RECHECK_SECONDS", 0.2)
    hosts = [CallingHost.enrol(api) for _ in range(3)]
    until(lambda: connected(api))
    polls = [background.submit(host.claim, wait_ms=25_000) for host in hosts]
    until(lambda: all(waiting(listener, host) for host in hosts))
    deaf = Fleet(replace(plane, wakeups=RecordedWakeups()))
    tasks = {str(deaf.submit()) for _ in hosts}
    assert deaf.assign() == 3
    answers = [poll.result(DEADLINE_SECONDS).json() for poll in polls]
    assert {answer["assignment"]["task_id"] for answer in answers} == tasks


def test_a_claim_for_several_devices_is_answered_with_several_tasks(api: httpx.Client, fleet: Fleet):
    host = CallingHost.enrol(api)
    host.beat(devices=[{"serial": serial, "state": "ready"} for serial in ("A", "B")])
    tasks = [str(fleet.submit()) for _ in range(2)]
    fleet.assign()
    answer = host.claim(free_devices=["A", "B"], max_assignments=2).json()
    assert [answer["assignment"]["task_id"], answer["further_assignments"][0]["task_id"]] == tasks


def test_the_answer_to_a_report_carries_the_next_task(api: httpx.Client, fleet: Fleet):
    host = CallingHost.enrol(api)
    fleet.submit()
    fleet.assign()
    lease_id = host.claim().json()["assignment"]["lease_id"]
    task_id = fleet.submit()
    claim = host.claim_body(wait_ms=25_000)
    first, again = (host.report(lease_id, "done", next_claim=claim).json() for _ in range(2))
    assert (first["status"], again["status"]) == ("recorded", "already_recorded")
    assert first["claimed"]["assignment"]["task_id"] == str(task_id)
    assert first["claimed"]["assignment"]["lease_id"] == again["claimed"]["assignment"]["lease_id"]
    assert host.report(first["claimed"]["assignment"]["lease_id"], "done").json()["claimed"] is None


def test_thirty_held_claims_leave_the_other_calls_their_threads(
    api: httpx.Client, listener: WakeupListener, user: dict[str, str]
):
    host = CallingHost.enrol(api)
    address = (api.base_url.host, api.base_url.port)
    sockets = [socket.create_connection(address) for _ in range(30)]
    try:
        for one in sockets:
            one.sendall(raw_claim(host))
        until(lambda: waiting(listener, host) == len(sockets))
        assert api.get("/v1/tasks", headers=user).status_code == 200
    finally:
        for one in sockets:
            one.close()
