"""Requests made up from the OpenAPI document itself: whatever they say, none ends in a 500."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok

from tests.control.api.calls import JOIN_TOKEN, CallingHost

EXAMPLES_PER_CALL = int(os.environ.get("CORRAL_FUZZ_EXAMPLES", "3"))
#: They take no input that could be broken.
WITHOUT_INPUT = {("get", path) for path in ("/healthz", "/metrics", "/readyz", "/v1/hosts", "/v1/api-keys")}
BRIEF = settings(
    max_examples=EXAMPLES_PER_CALL,
    database=None,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def bearers(api: httpx.Client, user: dict[str, str]) -> Callable[[str], dict[str, str]]:
    host = CallingHost.enrol(api)

    def of(path: str) -> dict[str, str]:
        if path.endswith("/register"):
            return {"Authorization": f"Bearer {JOIN_TOKEN}"}
        return host.headers if path.startswith("/internal/") else user

    return of


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_no_request_that_fits_or_breaks_the_document_ends_in_a_500(
    api: httpx.Client, bearers: Callable[[str], dict[str, str]], mode: schemathesis.GenerationMode
):
    schema = schemathesis.openapi.from_dict(api.get("/openapi.json").json())
    asked: list[str] = []
    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()
        if (operation.method, operation.path) in WITHOUT_INPUT:
            continue
        ask = partial(check, base_url=str(api.base_url), headers=bearers(operation.path), asked=asked)
        ask_often(operation.as_strategy(generation_mode=mode), ask)
    assert len(asked) >= EXAMPLES_PER_CALL * 10


def ask_often(cases: Any, ask: Callable[[Any], None]) -> None:
    @BRIEF
    @given(cases)
    def asked_with(case: Any) -> None:
        ask(case)

    asked_with()


def check(case: Any, *, base_url: str, headers: dict[str, str], asked: list[str]) -> None:
    asked.append(case.path)
    if isinstance(case.body, dict) and "wait_ms" in case.body:
        case.body["wait_ms"] = 0
    answer = case.call(base_url=base_url, headers=headers)
    case.validate_response(answer, checks=[not_a_server_error])
