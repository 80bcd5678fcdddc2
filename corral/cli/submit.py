"""`corral submit`."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from corral.cli.connection import connect
from corral.cli.exit_codes import ExitCode
from corral.cli.failures import WrongUsage
from corral.cli.flow_files import LocalFlow, read_flow
from corral.cli.options import Json, WaitLimit, pairs
from corral.cli.output import plain, print_json, stdout
from corral.cli.watch import follow
from corral.client.errors import Refused, refusal
from corral.contract.problems import Problem
from corral.contract.tasks import Requirement, RequirementOperator

_NAME_AT_THE_API = "flow.yaml"


def submit(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="A flow; - reads it from stdin.", show_default=False)],
    name: Annotated[str | None, typer.Option(help="Shown to people. Default: the flow's name, or its file's.")] = None,
    env: Annotated[list[str] | None, typer.Option(metavar="K=V", help="A value for ${K} in the flow.")] = None,
    label: Annotated[list[str] | None, typer.Option(metavar="K=V", help="A label to filter by.")] = None,
    require: Annotated[
        list[str] | None, typer.Option(metavar="K[=V]", help="Only on devices with this label (and value).")
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
    wait: Annotated[bool, typer.Option("--wait", help="Show the task until it has ended.")] = False,
    limit_seconds: WaitLimit = None,
    as_json: Json = False,
) -> int:
    """Hand over a flow, with the files that it includes, to be run on a device."""
    flow = _flow(file)
    with connect(context) as corral:
        try:
            task = corral.submit(
                flow.source,
                name=name or flow.name,
                files=flow.files,
                env=pairs(env or [], option="--env"),
                labels=pairs(label or [], option="--label"),
                requires=_requirements(require or []),
                idempotency_key=idempotency_key,
                priority=priority,
                max_attempts=max_attempts,
                timeout_seconds=timeout_seconds,
                queue_timeout_seconds=queue_timeout_seconds,
                batch_id=batch,
            )
        except Refused as refused:
            if as_json:
                raise
            raise refusal(_as_its_author_calls_it(refused.problem, flow, file)) from refused
        if wait:
            return follow(corral, task.task_id, as_json=as_json, limit_seconds=limit_seconds)
    if as_json:
        print_json(task)
    else:
        stdout().print(plain(task.task_id))
    return ExitCode.OK


def _as_its_author_calls_it(problem: Problem, flow: LocalFlow, file: str) -> Problem:
    """The problem with the path of the flow's file; the API never hears it, and has a name of its own for it."""
    if problem.context.get("file") != _NAME_AT_THE_API or _NAME_AT_THE_API in flow.files:
        return problem
    named = "stdin" if file == "-" else file
    return problem.model_copy(update={"detail": problem.detail.replace(f"{_NAME_AT_THE_API}:", f"{named}:", 1)})


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
        if separator:
            found.append(Requirement(label=label, value=value))
        else:
            found.append(Requirement(label=label, op=RequirementOperator.EXISTS))
    return found
