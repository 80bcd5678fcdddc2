"""One task, one trace: from the submit to the audit trail, over the wire to a collector and back into plain words."""

from collections import Counter

import httpx

from control.flower.spans import trace
from control.operations.assign import assign_tasks
from control.store.event_feed import EventFeed
from corral.stack.ports import free_port
from tests.control.api.calls import SUBMISSION, CallingHost
from tests.trace_collector import collecting, traced

CALLER = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"
SECRET = "hunter2-in-a-flow"
FLOW = f"appId: dev.corral.notes\n---\n- inputText: {SECRET}\n- tapOn: {SECRET}\n"


def through_its_life(api: httpx.Client, plane, user, **headers) -> str:
    """A task that is submitted, assigned, claimed and done; answers its id."""
    feed = EventFeed(plane.database)
    feed.read()
    host = CallingHost.enrol(api)
    body = SUBMISSION | {"flow": FLOW, "env": {"PASSWORD": SECRET}, "name": "login"}
    submitted = api.post("/v1/tasks", json=body, headers=user | headers)
    assert submitted.status_code == 201, submitted.text
    assign_tasks(plane)
    claimed = host.claim().json()["assignment"]
    assert host.report(claimed["lease_id"], "done", result={"text": SECRET}).status_code == 200
    trace(feed.read())
    return submitted.json()["task_id"]


def test_a_task_is_one_trace_from_its_submit_to_its_end(api, plane, user, monkeypatch):
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        with traced("corral-api"):
            task_id = through_its_life(api, plane, user, traceparent=f"00-{CALLER}-01")
    spans = {one.name: one for one in collector.spans}
    assert Counter(one.name for one in collector.spans) == Counter(
        ["submit", "assign", "claim", "result", "queued", "assigned", "task"]
    )
    trace_id = task_id.replace("-", "")
    assert {one.trace_id for one in collector.spans} == {trace_id}
    root = spans.pop("task")
    assert (root.span_id, root.parent_id) == (trace_id[16:], "")
    assert {one.parent_id for one in spans.values()} == {root.span_id}
    assert len({one.span_id for one in collector.spans}) == len(collector.spans)
    assert spans["submit"].links == [CALLER]
    assert root.attributes["corral.name"] == "login"
    assert (root.attributes["corral.outcome"], root.attributes["corral.attempts"]) == ("done", 1)
    assert spans["claim"].attributes["corral.attempt"] == 1
    assert root.lasted_ns >= spans["queued"].lasted_ns + spans["assigned"].lasted_ns > 0
    assert all(one.lasted_ns >= 0 and one.failure is None for one in collector.spans)
    assert SECRET not in repr(collector.spans)


def test_a_collector_that_is_gone_is_not_noticed_by_any_request(api, plane, user, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.1")
    with traced("corral-api"):
        assert through_its_life(api, plane, user)
