"""Tasks: submit, look, cancel."""

from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Header, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from control.api.access import with_scope
from control.api.edge import ThePlane
from control.api.strict_route import StrictRoute
from control.domain.errors import InvalidRequest, TaskAlreadyTerminal, TaskNotFound
from control.operations.cancel import Cancellation, CancellationRequestStatus, request_task_cancellation
from control.operations.keys import Principal
from control.operations.submit import submit_task
from control.operations.tasks import TaskFilters, list_attempts, list_events, list_tasks, show_task
from corral.contract.cancellation import TaskCancellationRequest, TaskCancellationResponse
from corral.contract.fleet import Scope
from corral.contract.history import AttemptList, TaskEventList
from corral.contract.models import Line
from corral.contract.problems import FieldProblem
from corral.contract.task_status import TaskStatus
from corral.contract.tasks import TaskDetail, TaskPage, TaskSubmission
from corral.traces.spans import work

router = APIRouter(route_class=StrictRoute, tags=["tasks"])

MAY_SUBMIT = with_scope(Scope.TASKS_SUBMIT)
MAY_READ = with_scope(Scope.TASKS_READ)

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="Visible ASCII. The same key and body again answer with the same task instead of a second one.",
    ),
]
Traceparent = Annotated[
    str | None,
    Header(description="W3C Trace Context: a span of the caller, to which the task's trace is linked, if any is kept."),
]
TaskId = Annotated[UUID, Path(description="The id that the submit answered.")]


class TaskQuery(BaseModel):
    """The filters of `GET /v1/tasks`; a task is listed where all of them fit."""

    model_config = ConfigDict(extra="forbid")

    status: list[TaskStatus] = Field(default_factory=list[TaskStatus], description="One of these statuses; repeatable.")
    cancelling: bool | None = Field(default=None, description="Whether a cancel is pending.")
    label: list[Annotated[str, StringConstraints(max_length=300)]] = Field(
        default_factory=list[str], max_length=32, description="`key=value`; repeatable, and all must fit."
    )
    host_id: UUID | None = Field(default=None, description="With this host now, or ended there.")
    device_id: UUID | None = Field(default=None, description="On this device now, or ended there.")
    batch_id: Line | None = Field(default=None, description="Submitted with this `batch_id`.")
    limit: int = Field(default=50, ge=1, le=200, description="How many to a page.")
    page_token: Annotated[str, StringConstraints(max_length=1000)] | None = Field(
        default=None, description="`next_page_token` of the page before."
    )


@router.post("/v1/tasks", status_code=HTTPStatus.CREATED, summary="Submit a task")
def submit(
    plane: ThePlane,
    response: Response,
    submission: TaskSubmission,
    principal: Annotated[Principal, MAY_SUBMIT],
    idempotency_key: IdempotencyKey = None,
    traceparent: Traceparent = None,
) -> TaskDetail:
    """Checks the flow and queues the task. 200 instead of 201: the idempotency key was used for this task before."""
    with work("submit", actor=principal.actor) as traced:
        traced.link(traceparent)
        submitted = submit_task(plane, submission, principal=principal, idempotency_key=idempotency_key)
        task = submitted.task
        traced.serve(task.task_id, kind=task.kind, name=task.name, is_replay=submitted.is_replay)
    if submitted.is_replay:
        response.status_code = HTTPStatus.OK
    response.headers["Location"] = f"/v1/tasks/{submitted.task.task_id}"
    return submitted.task


@router.get("/v1/tasks", dependencies=[MAY_READ], summary="List tasks, the youngest first")
def index(plane: ThePlane, query: Annotated[TaskQuery, Query()]) -> TaskPage:
    filters = TaskFilters(
        statuses=tuple(query.status),
        is_cancelling=query.cancelling,
        labels=_labels(query.label),
        host_id=query.host_id,
        device_id=query.device_id,
        batch_id=query.batch_id,
    )
    return list_tasks(plane, filters, page_token=query.page_token, limit=query.limit)


@router.get("/v1/tasks/{task_id}", dependencies=[MAY_READ], summary="Show a task")
def show(plane: ThePlane, task_id: TaskId) -> TaskDetail:
    """Includes the receipt of its cancel request, where there was one."""
    return show_task(plane, task_id)


@router.get("/v1/tasks/{task_id}/attempts", dependencies=[MAY_READ], summary="List the attempts of a task")
def attempts(plane: ThePlane, task_id: TaskId) -> AttemptList:
    return list_attempts(plane, task_id)


@router.get("/v1/tasks/{task_id}/events", dependencies=[MAY_READ], summary="Read the audit trail of a task")
def events(
    plane: ThePlane,
    task_id: TaskId,
    after: Annotated[int, Query(ge=0, le=2**63 - 1, description="Only events with a larger `event_id`.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many at once.")] = 500,
) -> TaskEventList:
    return list_events(plane, task_id, after=after, limit=limit)


@router.post(
    "/v1/tasks/{task_id}/cancel",
    summary="Cancel a task",
    responses={202: {"model": TaskCancellationResponse, "description": "The task's host will be told to stop."}},
)
def cancel(
    plane: ThePlane,
    response: Response,
    task_id: TaskId,
    principal: Annotated[Principal, MAY_SUBMIT],
    request: Annotated[TaskCancellationRequest | None, Body()] = None,
) -> TaskCancellationResponse:
    """200: it will never run (on), or was asked to stop before. 202: asked just now. 409: it has ended by itself."""
    reason = request.reason if request else None
    with work("cancel", actor=principal.actor) as traced:
        cancellation = request_task_cancellation(plane, task_id, actor=principal.actor, reason=reason)
        if cancellation.task_status is not None:
            traced.serve(task_id, answer=cancellation.request_status, status=cancellation.task_status)
    answer = _answer(cancellation, task_id)
    if cancellation.request_status is CancellationRequestStatus.REQUESTED and not answer.status.is_terminal:
        response.status_code = HTTPStatus.ACCEPTED
    return answer


def _answer(cancellation: Cancellation, task_id: UUID) -> TaskCancellationResponse:
    if cancellation.request_status is CancellationRequestStatus.NOT_FOUND:
        raise TaskNotFound(f"there is no task {task_id}")
    if cancellation.response is None or cancellation.response.status in {TaskStatus.DONE, TaskStatus.FAILED}:
        raise TaskAlreadyTerminal(
            f"task is already terminal: {cancellation.task_status}", task_status=cancellation.task_status
        )
    return cancellation.response


def _labels(pairs: list[str]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for index, pair in enumerate(pairs):
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise _bad_label(index, "write a label as key=value")
        if labels.setdefault(key, value) != value:
            raise _bad_label(index, f"the label '{key}' cannot have two values at once")
    return labels


def _bad_label(index: int, message: str) -> InvalidRequest:
    location = f"query.label.{index}"
    return InvalidRequest(f"{location}: {message}", errors=[FieldProblem(location=location, message=message)])
