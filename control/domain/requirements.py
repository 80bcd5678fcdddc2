"""Which device suits a task: conditions on labels, and the class of tasks that share the same conditions."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from corral.contract.goals import AGENT_LABEL, GOALS_LABEL
from corral.contract.tasks import Requirement, RequirementOperator, TaskKind, TaskSubmission, version


def requirements_of(submission: TaskSubmission) -> list[Requirement]:
    """What the task was submitted with, and for a goal what its agent needs, unless that says so already.

    A script is played by every host that runs goals; any other goal needs a host with a model.
    """
    if submission.kind is not TaskKind.GOAL:
        return submission.requires
    agent = submission.agent
    if agent is not None and agent.model is not None:
        implied = Requirement(label=AGENT_LABEL, value=agent.model)
    else:
        is_scripted = agent is not None and agent.script is not None
        label = GOALS_LABEL if is_scripted else AGENT_LABEL
        implied = Requirement(label=label, op=RequirementOperator.EXISTS)
    is_implied_already = any(
        one == implied or (one.label == implied.label and implied.op is RequirementOperator.EXISTS)
        for one in submission.requires
    )
    return submission.requires if is_implied_already else [*submission.requires, implied]


def requirement_class(requires: Sequence[Requirement]) -> str:
    """A short name that is the same for the same conditions in any order: the queue is matched class by class."""
    canonical = sorted({json.dumps(_canonical(one), sort_keys=True) for one in requires})
    return hashlib.sha256("\n".join(canonical).encode()).hexdigest()[:16]


def _canonical(requirement: Requirement) -> dict[str, Any]:
    value = requirement.value
    return requirement.model_dump(mode="json") | ({"value": sorted(set(value))} if isinstance(value, list) else {})


def is_met(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """Whether a device with these labels fulfils this condition."""
    carried = labels.get(requirement.label)
    match requirement.op:
        case RequirementOperator.EXISTS:
            return carried is not None
        case RequirementOperator.EQ:
            return carried == requirement.value
        case RequirementOperator.NE:
            return carried != requirement.value
        case RequirementOperator.IN:
            return carried in _values(requirement)
        case RequirementOperator.NOT_IN:
            return carried not in _values(requirement)
        case RequirementOperator.GE | RequirementOperator.LE:
            return _is_on_its_side(requirement, carried)
        case _:
            assert_never(requirement.op)


def _values(requirement: Requirement) -> list[str]:
    return requirement.value if isinstance(requirement.value, list) else []


def _is_on_its_side(requirement: Requirement, carried: str | None) -> bool:
    """A label that is missing or no version is on neither side."""
    actual = version(carried) if carried is not None else None
    limit = version(requirement.value) if isinstance(requirement.value, str) else None
    if actual is None or limit is None:
        return False
    return actual >= limit if requirement.op is RequirementOperator.GE else actual <= limit


def unmet(requires: Sequence[Requirement], labels: Mapping[str, str]) -> list[Requirement]:
    """The conditions that a device with these labels does not fulfil; none means that it suits the task."""
    return [requirement for requirement in requires if not is_met(requirement, labels)]


def device_labels(device: Mapping[Any, Any]) -> dict[str, str]:
    """All labels of a device: its host's, its own, and what it is, which nobody can overwrite.

    `device` has `host_name`, `host_labels`, `host_commands`, `serial`, `labels`, `model`, `manufacturer` and
    `android_version`.
    """
    facts = {name: device[name] for name in ("model", "manufacturer", "android_version") if device[name]}
    return {
        **device["host_labels"],
        **device["labels"],
        **facts,
        **({GOALS_LABEL: "yes"} if TaskKind.GOAL in device["host_commands"] else {}),
        "host": device["host_name"],
        "serial": device["serial"],
    }
