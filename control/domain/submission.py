"""A task before it is queued: whether a host can read all of it, and what goes without saying."""

from control.domain.errors import InvalidFlow, InvalidRequest
from control.domain.requirements import requirements_of
from corral.contract.problems import FieldProblem
from corral.contract.tasks import TaskKind, TaskSubmission
from corral.flow.condition import parse_condition
from corral.flow.errors import FlowError
from corral.flow.parser import parse_flow, parse_flows
from corral.goal.errors import InvalidScript
from corral.goal.script import parse_script

#: A flow with all of its files is a few dozen KiB; this is for the largest suite that anybody keeps in one task.
MAX_SUBMISSION_BYTES = 1024 * 1024
#: The name under which a flow's own text is known in errors; its included files keep their paths.
FLOW_NAME = "flow.yaml"
#: A goal's first line stands for its name where it has none: as much of it as a list shows.
MAX_NAME_CHARACTERS = 80


def checked(submission: TaskSubmission) -> TaskSubmission:
    """The submission with the name that people will see, and with all that a device must have for it.

    Raises:
        InvalidFlow: a flow, or the condition of a goal, cannot be read; the context names file, line and command.
        InvalidRequest: the script of a goal cannot be played; the context names its line.
    """
    own_name = _checked_flow(submission) if submission.kind is TaskKind.FLOW else _checked_goal(submission)
    return submission.model_copy(update={"name": submission.name or own_name, "requires": requirements_of(submission)})


def _checked_flow(submission: TaskSubmission) -> str | None:
    try:
        flow = parse_flow(submission.flow or "", name=FLOW_NAME, files=submission.files, env=submission.env)
    except FlowError as error:
        raise _invalid(error, "body.flow" if error.file == FLOW_NAME else f"body.files.{error.file}") from error
    return flow.name if flow.name != FLOW_NAME else None


def _checked_goal(submission: TaskSubmission) -> str:
    goal = submission.goal or ""
    try:
        parse_flows(submission.files, env=submission.env)
    except FlowError as error:
        raise _invalid(error, f"body.files.{error.file}" if error.file in submission.files else "body.env") from error
    if submission.verify is not None:
        try:
            parse_condition(submission.verify, env=submission.env)
        except FlowError as error:
            raise _invalid(error, "body.verify") from error
    if submission.agent is not None and submission.agent.script is not None:
        _check_script(submission.agent.script)
    first_line = goal.strip().splitlines()[0].rstrip()
    return first_line if len(first_line) <= MAX_NAME_CHARACTERS else first_line[: MAX_NAME_CHARACTERS - 1] + "…"


def _check_script(script: str) -> None:
    try:
        parse_script(script)
    except InvalidScript as error:
        problem = FieldProblem(location="body.agent.script", message=str(error))
        raise InvalidRequest(f"the script of the agent: {error}", errors=[problem], line=error.line) from error


def _invalid(error: FlowError, location: str) -> InvalidFlow:
    return InvalidFlow(
        str(error),
        errors=[FieldProblem(location=location, message=error.message, allowed=list(error.allowed))],
        file=error.file,
        line=error.line,
        command=error.command,
        allowed=list(error.allowed),
    )
