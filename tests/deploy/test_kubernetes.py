"""The manifests in deploy/k8s read as files: what fits together, and who reaches whom."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from corral.cli.app import app as command_line
from tests.deploy.settings import is_setting, names_secret

ROOT = Path(__file__).parents[2]
Manifest = dict[str, Any]


def _manifests() -> Iterator[Manifest]:
    for path in sorted((ROOT / "deploy/k8s").rglob("*.yaml")):
        yield from yaml.safe_load_all(path.read_text())


ALL = list(_manifests())
BY_KIND = {kind: [one for one in ALL if one["kind"] == kind] for kind in sorted({one["kind"] for one in ALL})}
WORKLOADS = [one for kind in ("Deployment", "StatefulSet", "Job") for one in BY_KIND[kind]]
#: Not ours, but the policies name them.
STORES = {"postgres": {"app.kubernetes.io/name": "postgres"}, "redis": {"app.kubernetes.io/name": "redis"}}
PODS = {one["metadata"]["name"]: one["spec"]["template"]["metadata"]["labels"] for one in WORKLOADS} | STORES


def name(manifest: Manifest) -> str:
    return manifest["metadata"]["name"]


def containers(workload: Manifest) -> list[Manifest]:
    pod = workload["spec"]["template"]["spec"]
    return [*pod.get("initContainers", []), *pod["containers"]]


def selects(selector: dict[str, str], labels: dict[str, str]) -> bool:
    return selector.items() <= labels.items()


def named(kind: str, one: str) -> Manifest:
    (found,) = [manifest for manifest in BY_KIND[kind] if name(manifest) == one]
    return found


def test_all_parts_are_there_and_in_one_namespace():
    replicas = {name(one): one["spec"]["replicas"] for one in WORKLOADS if one["kind"] != "Job"}
    assert replicas == {"api": 2, "jobs": 2, "jobs-reap": 2, "beat": 1, "bridge": 2, "flower": 1, "host": 1}
    assert {one["metadata"].get("namespace", "corral") for one in ALL} == {"corral"}
    assert named("Deployment", "beat")["spec"]["strategy"] == {"type": "Recreate"}


def test_they_all_run_one_image_with_commands_that_there_are():
    images = {container["image"] for one in WORKLOADS for container in containers(one)}
    assert len(images) == 1
    known = {command.name or command.callback.__name__ for command in command_line.registered_commands}
    assert {container["args"][0] for one in WORKLOADS for container in containers(one)} <= known


@pytest.mark.parametrize("workload", WORKLOADS, ids=name)
def test_a_pod_has_no_rights_that_it_does_not_need(workload: Manifest):
    pod = workload["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert (pod["securityContext"]["runAsNonRoot"], pod["securityContext"]["runAsUser"]) == (True, 10001)
    for container in containers(workload):
        rights = container["securityContext"]
        assert rights["readOnlyRootFilesystem"] is True
        assert rights["allowPrivilegeEscalation"] is False
        assert rights["capabilities"] == {"drop": ["ALL"]}
        assert {"requests", "limits"} == set(container["resources"])


@pytest.mark.parametrize("workload", WORKLOADS, ids=name)
def test_what_a_pod_names_is_there(workload: Manifest):
    pod = workload["spec"]["template"]["spec"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    volumes |= {name(claim): claim for claim in workload["spec"].get("volumeClaimTemplates", [])}
    secrets = {file for one in volumes.values() if "secret" in one for file in _files_of(one["secret"]["secretName"])}
    for container in containers(workload):
        assert {mount["name"] for mount in container["volumeMounts"]} <= set(volumes)
        variables = _variables(container)
        assert [variable for variable in variables if not is_setting(variable)] == []
        files = {str(value) for variable, value in variables.items() if names_secret(variable)}
        assert files <= secrets
    for volume in volumes.values():
        if "persistentVolumeClaim" in volume:
            assert named("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"])


@pytest.mark.parametrize("workload", [one for one in WORKLOADS if one["kind"] != "Job"], ids=name)
def test_a_pod_that_stays_is_watched_on_a_port_that_it_has(workload: Manifest):
    assert selects(workload["spec"]["selector"]["matchLabels"], PODS[name(workload)])
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    assert "livenessProbe" in container
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        if probe in container:
            assert container[probe]["httpGet"]["port"] in ports
    variables = _variables(container)
    metrics = variables.get("CORRAL_HOST_METRICS_PORT") or variables.get("CORRAL_METRICS_PORT")
    assert ports.get("metrics", int(metrics or 0)) == int(metrics or 0)


def test_a_service_leads_to_one_workload_and_to_a_port_of_it():
    for service in BY_KIND["Service"]:
        found = [one for one in WORKLOADS if selects(service["spec"]["selector"], PODS[name(one)])]
        assert [name(one) for one in found] == [name(service)]
        (container,) = found[0]["spec"]["template"]["spec"]["containers"]
        offered = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert [offered[port["targetPort"]] for port in service["spec"]["ports"]] == [
            port["port"] for port in service["spec"]["ports"]
        ]


def test_what_runs_twice_is_never_drained_away_altogether():
    replicated = {name(one) for one in WORKLOADS if one["spec"].get("replicas", 1) > 1}
    budgets = {name(one): one["spec"] for one in BY_KIND["PodDisruptionBudget"]}
    assert set(budgets) == replicated
    for one, budget in budgets.items():
        assert budget["minAvailable"] == 1
        assert [pod for pod, labels in PODS.items() if selects(budget["selector"]["matchLabels"], labels)] == [one]


def test_who_reaches_whom():
    reached = {pod: sorted(_reached_by(pod)) for pod in PODS}
    control = ["postgres:5432", "redis:6379"]
    assert reached == {
        **dict.fromkeys(("api", "jobs", "jobs-reap", "beat", "bridge", "migrate"), control),
        "flower": ["redis:6379"],
        "host": ["api:7700"],
        "postgres": [],
        "redis": [],
    }


def test_an_example_of_a_secret_is_refused_or_seen_at_once():
    values = [value for one in BY_KIND["Secret"] for value in one["stringData"].values()]
    assert [value for value in values if "REPLACE" not in value] == []


def _variables(container: Manifest) -> dict[str, Any]:
    found = {one["name"]: one.get("value") for one in container.get("env", [])}
    for source in container.get("envFrom", []):
        found |= named("ConfigMap", source["configMapRef"]["name"])["data"]
    return found


def _files_of(secret: str) -> set[str]:
    return {f"/etc/corral/secrets/{key}" for key in named("Secret", secret)["stringData"]}


def _reached_by(source: str) -> set[str]:
    """Pods and ports that both sides' policies let through; a pod that no policy selects would be open to all."""
    policies = [one["spec"] for one in BY_KIND["NetworkPolicy"]]
    return {
        f"{target}:{port}"
        for target, labels in PODS.items()
        for port in _ports(policies, "egress", "to", of=PODS[source], other=labels)
        & _ports(policies, "ingress", "from", of=labels, other=PODS[source])
    }


def _ports(policies: list[Manifest], rules: str, peers: str, *, of: dict[str, str], other: dict[str, str]) -> set[int]:
    return {
        port["port"]
        for policy in policies
        if selects(policy["podSelector"].get("matchLabels", {}), of)
        for rule in policy.get(rules, [])
        for peer in rule[peers]
        if "namespaceSelector" not in peer and selects(peer["podSelector"]["matchLabels"], other)
        for port in rule["ports"]
    }
