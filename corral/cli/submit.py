"""`corral submit`."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from corral.cli.connection import connect
from corral.cli.exit_codes import ExitCode
from corral.cli.failures import WrongUsage
from corral.cli.flow_files import LocalFlow, read_flow
from corral.cli.goal_options import (
    File,
    Goal,
    GoalOptions,
    MaxSteps,
    MaxTokens,
    Model,
    Script,
    Secret,
    Verify,
    VerifyFile,
    goal_fields,
)
from corral.cli.options import Json, WaitLimit, pairs
from corral.cli.output import plain, print_json, stdout
from corral.cli.watch import follow
from corral.client.errors import Refused, refusal
from corral.contract.problems import Problem
from corral.contract.tasks import Requirement, RequirementOperator, TaskKind, TaskSubmission

_NAME_AT_THE_API = "flow.yaml"
_VERIFY_AT_THE_API = "verify"
_SCRIPT_AT_THE_API = "the script of the agent"
#: No label ends with one of these.
_BEFORE_EQUALS = {"!": RequirementOperator.NE, ">": RequirementOperator.GE, "<": RequirementOperator.LE}


def submit(
    context: typer.Context,
    flow: Annotated[
        str | None, typer.Argument(metavar="FILE|-", help="A flow; - reads it from stdin.", show_default=False)
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Shown to people. Default: the flow's name or its file's, the goal's first line.")
    ] = None,
    env: Annotated[list[str] | None, typer.Option(metavar="K=V", help="A value for ${K} in the flow.")] = None,
    label: Annotated[list[str] | None, typer.Option(metavar="K=V", help="A label to filter by.")] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(metavar="K[=V]", help="Only on devices with this label (and value). Also K!=V, K>=V, K<=V."),
    ] = None,
    priority: Annotated[int, typer.Option(help="-100 to 100; higher goes first.")] = 0,
    max_attempts: Annotated[int, typer.Option(help="Runs, when hosts or devices fail under it.")] = 2,
    timeout_seconds: Annotated[
        int | None, typer.Option("--timeout", metavar="SECONDS", help="Stop a run that takes longer.")
    ] = None,
    queue_timeout_seconds: Annotated[
        int | None, typer.Option("--queue-timeout", metavar="SECONDS", help="Fail a task that waits longer.")
    ] = None,
    batch: Annotated[str | None, typer.Option(metavar="ID", help="Groups tasks that belong together.")] = None,
    idempotency_key: Annotated[str | None, typer.Option(metavar="KEY", help="The same key submits once.")] = None,
    goal: Goal = None,
    verify: Verify = None,
    verify_file: VerifyFile = None,
    model: Model = None,
    script: Script = None,
    secret: Secret = None,
    max_steps: MaxSteps = None,
    max_tokens: MaxTokens = None,
    file: File = None,
    wait: Annotated[bool, typer.Option("--wait", help="Show the task until it has ended.")] = False,
    limit_seconds: WaitLimit = None,
    as_json: Json = False,
) -> int:
    """Hand over a flow, with the files that it includes, or a goal, to be run on a device."""
    of_goal = GoalOptions(
        verify=verify,
        verify_file=verify_file,
        model=model,
        script=script,
        secret=secret,
        max_steps=max_steps,
        max_tokens=max_tokens,
        file=file,
    )
    wish = _wish(flow, goal, of_goal)
    if name:
        wish["name"] = name
    submission = TaskSubmission(
        **wish,
        env=pairs(env or [], option="--env"),
        labels=pairs(label or [], option="--label"),
        requires=_requirements(require or []),
        priority=priority,
        max_attempts=max_attempts,
        timeout_seconds=timeout_seconds,
        queue_timeout_seconds=queue_timeout_seconds,
        batch_id=batch,
    )
    with connect(context) as corral:
        try:
            task = corral.submit_task(submission, idempotency_key=idempotency_key)
        except Refused as refused:
            if as_json:
                raise
            named = _as_its_author_calls_it(refused.problem, submission, flow=flow, of_goal=of_goal)
            raise refusal(named) from refused
        if wait:
            return follow(corral, task.task_id, as_json=as_json, limit_seconds=limit_seconds)
    if as_json:
        print_json(task)
    else:
        stdout().print(plain(task.task_id))
    return ExitCode.OK


def _wish(flow: str | None, goal: str | None, of_goal: GoalOptions) -> dict[str, Any]:
    """The fields of a submission that say what is wanted. Raises `WrongUsage` unless it is one thing."""
    if goal is not None:
        if flow is not None:
            raise WrongUsage(f"give a flow ({flow}) or --goal, not both; --file gives flows to the agent of a goal")
        return goal_fields(goal, of_goal)
    if flow is None:
        raise WrongUsage("name the FILE of a flow, or give a --goal")
    of_goal.refuse_any()
    found = _flow(flow)
    return {"kind": TaskKind.FLOW, "flow": found.source, "files": found.files, "name": found.name}


def _as_its_author_calls_it(
    problem: Problem, submission: TaskSubmission, *, flow: str | None, of_goal: GoalOptions
) -> Problem:
    """The problem with the path of the file; the API never hears it, and has names of its own for it."""
    if flow is None:
        names = {_SCRIPT_AT_THE_API: of_goal.script, _VERIFY_AT_THE_API: of_goal.verify_file}
    elif _NAME_AT_THE_API not in submission.files:
        names = {_NAME_AT_THE_API: "stdin" if flow == "-" else flow}
    else:
        names = {}
    for known, path in names.items():
        if path is not None and problem.detail.startswith(f"{known}:"):
            return problem.model_copy(update={"detail": problem.detail.replace(known, path, 1)})
    return problem


def _flow(file: str) -> LocalFlow:
    if file != "-":
        return read_flow(Path(file))
    if sys.stdin is None:
        raise WrongUsage("stdin is closed; there is no flow to read")
    try:
        return LocalFlow(sys.stdin.buffer.read().decode(), files={}, name=None)
    except UnicodeDecodeError as trouble:
        raise WrongUsage(f"stdin is not UTF-8 text: {trouble.reason} at byte {trouble.start}") from None


def _requirements(texts: Iterable[str]) -> list[Requirement]:
    found: list[Requirement] = []
    for text in texts:
        label, separator, value = text.partition("=")
        if not separator:
            found.append(Requirement(label=label, op=RequirementOperator.EXISTS))
        elif op := _BEFORE_EQUALS.get(label[-1:]):
            found.append(Requirement(label=label[:-1], op=op, value=value))
        else:
            found.append(Requirement(label=label, value=value))
    return found
