from typing import Any

import psycopg
import pytest

from corral.contract.fleet import Scope
from tests.corral.cli.conftest import Corral
from tests.corral.fake_api import HOST_ID, FakeApi, device, host, problem

OTHER_ID = "01a22e0a-8529-7185-9a2f-a42b06128c4e"


def test_hosts_are_listed_with_their_state(of_api: Corral, api: FakeApi) -> None:
    hosts = [host(), host("gone", is_online=False), host("tired", is_draining=True)]
    api.answer("GET", "/v1/hosts", (200, {"hosts": hosts}))
    states = [line.split()[1] for line in of_api("hosts").out.splitlines()[1:]]
    assert states == ["online", "offline", "draining"]
    assert len(of_api("hosts", "--json").json["hosts"]) == 3


@pytest.mark.parametrize(("columns", "has_ids"), [(80, False), (120, True)])
def test_the_list_of_hosts_fits_a_terminal(
    of_api: Corral, api: FakeApi, monkeypatch: pytest.MonkeyPatch, columns: int, *, has_ids: bool
) -> None:
    monkeypatch.setattr("corral.cli.output._WIDTH_OF_PIPE", columns)
    labels = {"room": "lab", "rack": "3", "floor": "second", "owner": "the team of the checkout"}
    api.answer("GET", "/v1/hosts", (200, {"hosts": [host(), host("rack-3", labels=labels, version="0.1.0.dev12+a")]}))
    heading, *lines = of_api("hosts").out.splitlines()
    assert heading.split()[:7] == ["HOST", "STATE", "DEVICES", "RUNNING", "SEEN", "VERSION", "LABELS"]
    assert heading.split()[7:] == (["ID"] if has_ids else [])
    assert len(lines) == 2
    assert [HOST_ID in line for line in lines] == [has_ids] * 2
    assert max(map(len, lines)) <= columns


def test_devices_are_listed_with_their_remedy(of_api: Corral, api: FakeApi) -> None:
    unauthorized = device(state="unauthorized", is_online=False, remedy="Allow USB debugging on the phone")
    found = [device(), device(task_id=OTHER_ID), unauthorized, device(is_online=False)]
    api.answer("GET", "/v1/devices", (200, {"devices": found}))
    ran = of_api("devices")
    for word in ("ready", "busy", "unauthorized", "Allow USB debugging", "host offline", "80 %"):
        assert word in ran.out
    assert len(of_api("devices", "--json").json["devices"]) == 4


@pytest.mark.parametrize("named", [HOST_ID, "desk"], ids=["by id", "by name"])
def test_a_host_is_drained(of_api: Corral, api: FakeApi, named: str) -> None:
    api.answer("GET", "/v1/hosts", (200, {"hosts": [host()]}))
    api.answer("POST", f"/v1/hosts/{HOST_ID}/drain", (200, host(is_draining=True)))
    ran = of_api("drain", named)
    assert (ran.code, ran.out.strip()) == (0, "desk is draining, running 1")
    of_api("drain", named, "--off")
    assert api.requests[-1].body == {"draining": False}


@pytest.mark.parametrize("hosts", [[host("a"), host("b")], [host(), host(host_id=OTHER_ID)]], ids=["none", "two"])
def test_a_name_that_is_not_one_hosts_is_not_guessed(of_api: Corral, api: FakeApi, hosts: list[Any]) -> None:
    api.answer("GET", "/v1/hosts", (200, {"hosts": hosts}))
    ran = of_api("drain", "desk")
    assert ran.code == 2
    assert "called 'desk'" in ran.err


def test_a_key_is_made_over_the_api(of_api: Corral, api: FakeApi) -> None:
    created = {
        "key_id": "k",
        "name": "ci",
        "scopes": ["tasks:read"],
        "api_key": "corral_k_s",
        "created_at": "2026-01-01T10:00:00Z",
    }
    api.answer("POST", "/v1/api-keys", (201, created))
    ran = of_api("keys", "create", "--name", "ci", "--scope", "tasks:read")
    assert (ran.code, ran.out.strip()) == (0, "corral_k_s")
    assert api.requests[0].body == {"name": "ci", "scopes": ["tasks:read"]}


KEY_VIEW = {
    "key_id": "k7",
    "name": "ci",
    "scopes": ["tasks:read"],
    "created_at": "2026-01-01T10:00:00Z",
    "revoked_at": None,
}


def test_keys_are_listed_and_revoked(of_api: Corral, api: FakeApi) -> None:
    revoked = KEY_VIEW | {"revoked_at": "2026-01-02T10:00:00Z"}
    api.answer("GET", "/v1/api-keys", (200, {"keys": [KEY_VIEW, revoked]}))
    assert [line.split()[:3] for line in of_api("keys", "list").out.splitlines()[1:]] == [
        ["k7", "ci", "good"],
        ["k7", "ci", "revoked"],
    ]
    assert len(of_api("keys", "list", "--json").json["keys"]) == 2
    api.answer("DELETE", "/v1/api-keys/k7", (200, revoked))
    ran = of_api("keys", "revoke", "k7")
    assert (ran.code, ran.out.strip()) == (0, "k7 (ci) is revoked")
    assert of_api("keys", "revoke", "k7", "--json").json == revoked
    api.answer("DELETE", "/v1/api-keys/k8", (404, problem("key_not_found", 404, "there is no API key k8")))
    assert of_api("keys", "revoke", "k8").code == 4


@pytest.mark.parametrize("named", [HOST_ID, "desk"], ids=["by id", "by name"])
def test_a_host_is_revoked(of_api: Corral, api: FakeApi, named: str) -> None:
    revoked = host(is_online=False, is_revoked=True)
    api.answer("GET", "/v1/hosts", (200, {"hosts": [host()]}))
    api.answer("POST", f"/v1/hosts/{HOST_ID}/revoke", (200, revoked))
    ran = of_api("hosts", "revoke", named)
    assert (ran.code, ran.out.strip()) == (0, "desk is revoked, running 1")
    assert of_api("hosts", "revoke", named, "--json").json["is_revoked"] is True
    assert of_api("hosts", "--json", "revoke", named).code == 2


def test_the_first_key_of_a_cluster_is_made_in_the_database(
    corral: Corral, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORRAL_DATABASE_URL", database_url)
    ran = corral("keys", "bootstrap", "--name", "admin", "--json")
    assert ran.code == 0
    assert set(ran.json["scopes"]) == {scope.value for scope in Scope}
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT name FROM api_keys").fetchall() == [("admin",)]


def test_migrate_says_where_the_database_is(corral: Corral, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORRAL_DATABASE_URL", database_url)
    ran = corral("migrate")
    assert ran.code == 0
    assert "at revision 0" in ran.out


@pytest.mark.parametrize(("url", "code"), [("", 2), ("mysql://x", 2), ("postgresql://nobody:x@127.0.0.1:1/none", 1)])
def test_a_database_that_cannot_be_used_is_told_in_words(
    corral: Corral, monkeypatch: pytest.MonkeyPatch, url: str, code: int
) -> None:
    monkeypatch.setenv("CORRAL_DATABASE_URL", url)
    ran = corral("migrate")
    assert ran.code == code
    assert "Traceback" not in ran.err
    assert "database" in ran.err.lower()
