import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.corral.cli.conftest import Corral
from tests.corral.fake_api import TASK_ID, FakeApi, problem, task

FLOW = "appId: com.example\n---\n- back\n"


@pytest.fixture
def flow_file(tmp_path: Path) -> Path:
    file = tmp_path / "log_in.yaml"
    file.write_text(FLOW)
    return file


def test_a_submit_prints_the_id_and_nothing_else(of_api: Corral, api: FakeApi, flow_file: Path) -> None:
    api.answer("POST", "/v1/tasks", (201, task()))
    ran = of_api("submit", str(flow_file))
    assert (ran.code, ran.out.strip(), ran.err) == (0, TASK_ID, "")


def test_options_become_fields_of_the_submission(of_api: Corral, api: FakeApi, flow_file: Path) -> None:
    api.answer("POST", "/v1/tasks", (201, task()))
    of_api(
        *("submit", str(flow_file), "--name", "Night run", "--env", "USER=ada=1", "--label", "team=shop"),
        *("--require", "model=Pixel", "--require", "sim", "--priority", "7", "--max-attempts", "3"),
        *("--timeout", "60", "--queue-timeout", "90", "--batch", "b1", "--idempotency-key", "once"),
    )
    [request] = api.requests
    assert request.headers["idempotency-key"] == "once"
    assert request.body == {
        "kind": "flow",
        "flow": FLOW,
        "files": {},
        "name": "Night run",
        "env": {"USER": "ada=1"},
        "labels": {"team": "shop"},
        "requires": [{"label": "model", "op": "eq", "value": "Pixel"}, {"label": "sim", "op": "exists"}],
        "priority": 7,
        "max_attempts": 3,
        "timeout_seconds": 60,
        "queue_timeout_seconds": 90,
        "batch_id": "b1",
    }


@pytest.mark.parametrize(
    ("text", "op", "value"),
    [
        ("v=a>=b", "eq", "a>=b"),
        ("v!=6", "ne", "6"),
        ("v>=12.1", "ge", "12.1"),
        ("v<=14", "le", "14"),
    ],
)
def test_what_stands_before_the_equals_sign_says_how_a_label_is_compared(
    of_api: Corral, api: FakeApi, flow_file: Path, text: str, op: str, value: str
) -> None:
    api.answer("POST", "/v1/tasks", (201, task()))
    of_api("submit", str(flow_file), "--require", text)
    assert api.requests[0].body["requires"] == [{"label": "v", "op": op, "value": value}]


def test_a_flow_without_a_name_is_called_like_its_file(of_api: Corral, api: FakeApi, flow_file: Path) -> None:
    api.answer("POST", "/v1/tasks", (201, task()))
    of_api("submit", str(flow_file))
    flow_file.write_text("appId: com.example\nname: Its own\n---\n- back\n")
    of_api("submit", str(flow_file))
    assert [request.body.get("name") for request in api.requests] == ["log_in", None]


def test_the_files_that_a_flow_includes_go_with_it(of_api: Corral, api: FakeApi, tmp_path: Path) -> None:
    api.answer("POST", "/v1/tasks", (201, task()))
    (tmp_path / "steps").mkdir()
    main = "appId: a.b\n---\n- runFlow: steps/open.yaml\n- repeat:\n    times: 2\n    commands:\n"
    main += "      - runFlow:\n          file: ./steps/close.yaml\n- retry:\n    file: steps/close.yaml\n"
    (tmp_path / "main.yaml").write_text(main)
    (tmp_path / "steps" / "open.yaml").write_text("appId: a.b\n---\n- runFlow: ../shared.yaml\n")
    (tmp_path / "steps" / "close.yaml").write_text("appId: a.b\n---\n- back\n")
    (tmp_path / "shared.yaml").write_text("appId: a.b\n---\n- runFlow: steps/close.yaml\n")
    of_api("submit", str(tmp_path / "main.yaml"))
    assert sorted(api.requests[0].body["files"]) == ["shared.yaml", "steps/close.yaml", "steps/open.yaml"]


def test_a_file_that_is_missing_is_named_with_who_includes_it(of_api: Corral, api: FakeApi, tmp_path: Path) -> None:
    (tmp_path / "main.yaml").write_text("appId: a.b\n---\n- runFlow: steps/gone.yaml\n")
    ran = of_api("submit", str(tmp_path / "main.yaml"))
    assert ran.code == 2
    assert "steps/gone.yaml, included by main.yaml" in ran.err
    assert api.requests == []


def test_a_file_outside_of_the_flows_folder_is_not_sent(of_api: Corral, api: FakeApi, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("appId: a.b\n---\n- back\n")
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "main.yaml").write_text("appId: a.b\n---\n- runFlow: ../secret.yaml\n")
    ran = of_api("submit", str(tmp_path / "flows" / "main.yaml"))
    assert ran.code == 2
    assert "outside" in ran.err
    assert api.requests == []


def test_a_flow_can_come_from_stdin(of_api: Corral, api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    api.answer("POST", "/v1/tasks", (201, task()))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(FLOW.encode())))
    assert of_api("submit", "-").code == 0
    assert api.requests[0].body["flow"] == FLOW


@pytest.mark.parametrize("content", [b"\xff\xfe", None], ids=["not UTF-8", "missing"])
def test_a_file_that_cannot_be_read_is_wrong_usage(of_api: Corral, tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "flow.yaml"
    if content is not None:
        file.write_bytes(content)
    ran = of_api("submit", str(file))
    assert ran.code == 2
    assert "flow.yaml" in ran.err


def test_what_is_no_yaml_is_left_for_the_api_to_refuse(of_api: Corral, api: FakeApi, tmp_path: Path) -> None:
    refused = problem(
        "invalid_flow",
        422,
        "flow.yaml:3: unknown command `tapp`",
        errors=[
            {"location": "body.flow", "message": "unknown command `tapp`", "allowed": ["tapOn"]},
            {"location": "body.priority", "message": "too high"},
        ],
    )
    api.answer("POST", "/v1/tasks", (422, refused))
    (tmp_path / "flow.yaml").write_text("appId: [\n")
    ran = of_api("submit", str(tmp_path / "flow.yaml"))
    assert ran.code == 4
    for told in ("flow.yaml:3:", "body.flow unknown command", "allowed: tapOn", "body.priority too high"):
        assert told in ran.err
    assert ran.out == ""


def test_a_mistake_in_the_flow_names_the_file_of_its_author(of_api: Corral, api: FakeApi, flow_file: Path) -> None:
    api.answer("POST", "/v1/tasks", (422, _mistake_in("flow.yaml")))
    ran = of_api("submit", str(flow_file))
    assert ran.code == 4
    assert f"{flow_file}:3: unknown command" in ran.err
    assert of_api("submit", str(flow_file), "--json").problem == _mistake_in("flow.yaml")


def test_a_mistake_in_an_included_file_keeps_its_path(of_api: Corral, api: FakeApi, flow_file: Path) -> None:
    (flow_file.parent / "flow.yaml").write_text(FLOW)
    flow_file.write_text("appId: a.b\n---\n- runFlow: flow.yaml\n")
    for included in ("steps/open.yaml", "flow.yaml"):
        api.answer("POST", "/v1/tasks", (422, _mistake_in(included)))
        assert f": {included}:3: unknown command" in of_api("submit", str(flow_file)).err


def test_a_mistake_in_a_flow_from_stdin_says_so(of_api: Corral, api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    api.answer("POST", "/v1/tasks", (422, _mistake_in("flow.yaml")))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(FLOW.encode())))
    assert "stdin:3: unknown command" in of_api("submit", "-").err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--timeout", "-1"), "--timeout: needs 1 or more"),
        (("--queue-timeout", "0"), "--queue-timeout: needs 1 or more"),
        (("--max-attempts", "0"), "--max-attempts: needs 1 or more"),
        (("--label", "sp ace=1"), "--label sp ace: a name begins"),
        (("--require", "sp ace"), "--require: a name begins"),
        (("--require", "v>=new"), "--require: op 'ge' needs a number or a version"),
        (("--require", "model=" + 201 * "x"), "--require: has more than 200 characters\n"),
        (("--batch", ""), "--batch: is empty"),
    ],
)
def test_a_wrong_value_is_told_with_its_option(
    of_api: Corral, flow_file: Path, arguments: tuple[str, str], told: str
) -> None:
    ran = of_api("submit", str(flow_file), *arguments)
    assert ran.code == 2
    assert f"Error: {told}" in ran.err


@pytest.mark.parametrize("arguments", [("--env", "novalue"), ("--priority", "1000"), ("--label", "sp ace=1")])
def test_a_wrong_option_is_told_without_asking_the_api(
    of_api: Corral, api: FakeApi, flow_file: Path, arguments: tuple[str, str]
) -> None:
    assert of_api("submit", str(flow_file), *arguments).code == 2
    assert api.requests == []


@pytest.mark.parametrize(("status", "code"), [("done", 0), ("failed", 1), ("cancelled", 3)])
def test_waiting_ends_with_the_exit_code_of_the_task(
    of_api: Corral, api: FakeApi, flow_file: Path, status: str, code: int
) -> None:
    api.answer("POST", "/v1/tasks", (201, task()))
    api.answer("GET", f"/v1/tasks/{TASK_ID}", (200, task(status)))
    ran = of_api("submit", str(flow_file), "--wait", "--json")
    assert (ran.code, ran.json["status"], ran.err) == (code, status, "")


def _mistake_in(file: str) -> dict[str, Any]:
    message = "unknown command `tapp`"
    return problem("invalid_flow", 422, f"{file}:3: {message}", errors=[], context={"file": file, "line": 3})
