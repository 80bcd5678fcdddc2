"""Every error is a problem document, whatever is wrong with the request."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from control.api.problems import STATUS_AND_TITLE
from corral.contract.problems import ProblemCode
from tests.control.api.calls import SUBMISSION, problem

ROOT = Path(__file__).parents[3]
JSON = {"Content-Type": "application/json"}
UNREADABLE = {
    "cut off": (b'{"kind": "flow", ', "line 1, column 18"),
    "a word": (b"hello", "line 1, column 1"),
    "a trailing comma": (b'{"kind": "flow",}', "line 1, column "),
    "two values": (b"{} {}", "line 1, column 4"),
    "a byte order mark": (b"\xef\xbb\xbf{}", "line 1, column 1"),
    "invalid UTF-8": (b'{"kind": "fl\xffow"}', "byte 12"),
    "UTF-16": ('{"kind": "flow"}'.encode("utf-16"), "UTF-8"),
    "Infinity": (b'{"kind": "flow", "priority": Infinity}', "Infinity"),
    "NaN": (b'{"kind": "flow", "priority": NaN}', "NaN"),
    "a number like infinity": (b'{"priority": 1e999}', "body.priority"),
    "a huge integer": (b'{"priority": 99999999999999999999999}', "body.priority"),
    "an endless integer": (b'{"priority": ' + b"9" * 100_000 + b"}", "number"),
    "a key twice": (b'{"kind": "flow", "kind": "goal"}', '"kind" twice'),
    "deep lists": (b"[" * 200_000, "64 levels"),
    "deep lists that end": (b"[" * 900 + b"]" * 900, "64 levels"),
    "deep objects": (b'{"a":' * 150_000 + b"1" + b"}" * 150_000, "64 levels"),
    "NUL": (b'{"kind": "flow", "flow": "a\\u0000b"}', "body.flow"),
    "NUL in a key": (b'{"labels": {"a\\u0000": "b"}}', "body.labels"),
    "a lone surrogate": (b'{"name": "\\ud800"}', "body.name"),
    "a lone surrogate as a key": (b'{"\\udfff": 1}', "surrogate"),
}
INVALID: dict[str, tuple[Any, str]] = {
    "a list": ([], "body"),
    "null": (None, "body"),
    "nothing in it": ({}, "body.kind"),
    "an unknown kind": ({"kind": "dance"}, "body.kind"),
    "an unknown field": ({**SUBMISSION, "prioritty": 3}, "body.prioritty"),
    "a word for a number": ({**SUBMISSION, "priority": "high"}, "body.priority"),
    "a number out of range": ({**SUBMISSION, "max_attempts": 0}, "body.max_attempts"),
    "a label without a name": ({**SUBMISSION, "labels": {"": "x"}}, "body.labels"),
    "too many labels": ({**SUBMISSION, "labels": {f"l{n}": "" for n in range(33)}}, "body.labels"),
    "a requirement with an unknown field": (
        {**SUBMISSION, "requires": [{"label": "a", "value": "b", "why": "c"}]},
        "body.requires.0.why",
    ),
    "a requirement that fits no operator": (
        {**SUBMISSION, "requires": [{"label": "a", "op": "in", "value": "b"}]},
        "body.requires.0",
    ),
    "no flow": ({"kind": "flow"}, "body"),
}


def test_every_code_has_a_status():
    assert set(STATUS_AND_TITLE) == set(ProblemCode)


@pytest.mark.parametrize("name", UNREADABLE)
def test_json_that_cannot_be_read_is_refused_with_its_place(api: httpx.Client, user: dict[str, str], name: str):
    body, place = UNREADABLE[name]
    document = problem(api.post("/v1/tasks", content=body, headers={**user, **JSON}), 422, "invalid_request")
    assert place in document["detail"]
    assert document["errors"][0]["location"].startswith("body")


@pytest.mark.parametrize("name", INVALID)
def test_a_body_that_is_not_valid_is_refused_with_the_field(api: httpx.Client, user: dict[str, str], name: str):
    body, location = INVALID[name]
    document = problem(api.post("/v1/tasks", json=body, headers=user), 422, "invalid_request")
    assert document["errors"][0]["location"].startswith(location)
    assert document["errors"][0]["message"]


def test_no_body_at_all_is_said_as_such(api: httpx.Client, user: dict[str, str]):
    document = problem(api.post("/v1/tasks", headers=user), 422, "invalid_request")
    assert document["detail"] == "body: a JSON body is needed here"


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "nonsense", None])
def test_a_body_that_is_not_json_by_its_type_is_refused(
    api: httpx.Client, user: dict[str, str], media_type: str | None
):
    headers = {**user, **({"Content-Type": media_type} if media_type else {})}
    answer = api.post("/v1/tasks", content=b'{"kind": "flow"}', headers=headers)
    problem(answer, 415, "unsupported_media_type")


def test_a_body_over_its_limit_is_refused_by_its_announced_length(api: httpx.Client, user: dict[str, str]):
    answer = api.post("/v1/tasks", json={**SUBMISSION, "name": "x" * 1_100_000}, headers=user)
    assert problem(answer, 413, "body_too_large")["context"]["max_bytes"] == 1024 * 1024


def test_an_unknown_address_is_a_problem_too(api: httpx.Client):
    problem(api.get("/v1/taks"), 404, "route_not_found")
    problem(api.get("/v1/tasks/"), 404, "route_not_found")


def test_a_method_that_is_not_allowed_is_answered_with_those_that_are(api: httpx.Client):
    answer = api.delete("/v1/tasks")
    problem(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == "GET, POST"


@pytest.mark.parametrize(
    "path", ["/v1/tasks/7", "/v1/tasks/7/events", "/v1/tasks/x/attempts", "/v1/tasks/%00", "/v1/tasks/%ff/artifacts"]
)
def test_an_id_that_is_no_uuid_is_not_valid(api: httpx.Client, user: dict[str, str], path: str):
    problem(api.get(path, headers=user), 422, "invalid_request")


def test_nul_in_a_query_is_not_valid(api: httpx.Client, user: dict[str, str]):
    problem(api.get("/v1/tasks?batch_id=a%00b", headers=user), 422, "invalid_request")


def test_a_query_parameter_that_is_not_known_is_an_error_on_every_public_route(api: httpx.Client, user: dict[str, str]):
    problem(api.get(f"/v1/tasks/{uuid4()}?verbose=1", headers=user), 422, "invalid_request")


def test_the_request_id_is_the_callers_where_it_is_sane(api: httpx.Client):
    assert api.get("/healthz", headers={"X-Request-Id": "trace-7/a"}).headers["x-request-id"] == "trace-7/a"
    made = api.get("/healthz", headers={"X-Request-Id": "spaces and <tags>"}).headers["x-request-id"]
    assert len(made) == len(str(uuid4()))


def test_answers_say_that_they_are_what_they_say(api: httpx.Client):
    headers = api.get("/healthz").headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


@pytest.mark.parametrize("code", ProblemCode)
def test_every_code_has_a_status_and_stands_in_the_reference_with_it(code: ProblemCode):
    status, _ = STATUS_AND_TITLE[code]
    page = (ROOT / "docs/reference/api.md").read_text()
    assert any(line.startswith(f"| {status.value} |") and f"`{code}`" in line for line in page.splitlines())
