"""compose.yaml read as a file: what can be seen without starting it."""

import re
from typing import Any

import pytest
import yaml

from tests.compose.__main__ import KILLED
from tests.compose.cluster import ROOT
from tests.deploy.settings import is_setting, names_secret

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
ONE_SHOT = {"secrets", "migrate"}
LONG_RUNNING = sorted(set(SERVICES) - ONE_SHOT)


def test_all_parts_are_there():
    parts = {"postgres", "redis", "api", "jobs", "jobs-reap", "beat", "bridge", "flower", "host", "phones"}
    assert set(LONG_RUNNING) == parts
    replicas = {name: service.get("deploy", {}).get("replicas", 1) for name, service in SERVICES.items()}
    assert {name: count for name, count in replicas.items() if count != 1} == {"api": 2, "bridge": 2}


def test_every_part_that_stays_is_killed_by_the_test_of_the_cluster():
    assert sorted(KILLED) == LONG_RUNNING


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_kept_running_or_runs_once(name: str):
    service = SERVICES[name]
    assert service["restart"] == ("no" if name in ONE_SHOT else "unless-stopped")
    assert ("healthcheck" in service) == (name not in ONE_SHOT)
    assert {"stop_grace_period", "mem_limit", "pids_limit", "logging"} <= set(service)
    assert service["logging"]["options"]["max-size"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_no_rights_that_it_does_not_need(name: str):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "devices", "pid", "ipc"} & set(service)
    assert "/var/run/docker.sock" not in str(service)
    # Root makes the secrets, without any network; the others are the user of their image or a named one.
    assert ("user" in service) == (name in {"secrets", "postgres", "redis"})
    assert (service.get("network_mode") == "none") == (name == "secrets")


@pytest.mark.parametrize("name", SERVICES)
def test_what_is_published_is_published_on_loopback(name: str):
    ports = SERVICES[name].get("ports", [])
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert bool(ports) == (name in {"api", "flower"})


def test_images_of_others_are_pinned_to_their_major_version():
    foreign = {service["image"] for service in SERVICES.values()} - {"${CORRAL_IMAGE:-corral:local}"}
    assert foreign == {"postgres:17", "redis:8"}


@pytest.mark.parametrize("name", SERVICES)
def test_a_secret_is_named_by_its_file_and_a_variable_is_one_that_there_is(name: str):
    environment = SERVICES[name].get("environment", {})
    assert [
        variable for variable in environment if re.search(r"PASSWORD$|TOKEN$|USERS$|DATABASE_URL$|REDIS_URL$", variable)
    ] == []
    files = {value for variable, value in environment.items() if names_secret(variable)}
    assert all(str(file).startswith("/run/secrets/") for file in files)
    assert [variable for variable in environment if variable.startswith("CORRAL_") and not is_setting(variable)] == []


def test_a_service_sees_its_own_secrets_alone():
    seen = {
        name: sorted(volume for volume in service.get("volumes", []) if volume.startswith("secrets-"))
        for name, service in SERVICES.items()
        if name != "secrets"
    }
    of = {"postgres": "postgres", "redis": "redis", "host": "host", "flower": "flower"}
    control = ("migrate", "api", "jobs", "jobs-reap", "beat", "bridge")
    of |= dict.fromkeys(control, "control")
    assert seen == {name: [f"secrets-{of[name]}:/run/secrets:ro"] if name in of else [] for name in seen}


def test_a_host_reaches_the_api_and_its_phones_and_nothing_else():
    def reached_by(name: str) -> set[str]:
        networks = set(SERVICES[name].get("networks", []))
        return {other for other in SERVICES if networks & set(SERVICES[other].get("networks", []))} - {name}

    assert reached_by("host") == {"api", "phones"}
    assert reached_by("phones") == {"host"}
    assert not {"host", "phones", "flower"} & reached_by("postgres")
    assert {name for name, network in COMPOSE["networks"].items() if network.get("internal")} == {
        "database",
        "broker",
        "phones",
    }
