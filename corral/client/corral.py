"""`Corral`, the control plane as an object."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, Unpack, overload
from urllib.parse import quote
from uuid import UUID, uuid4

from corral.client.errors import WaitTimedOut
from corral.client.options import TaskOptions
from corral.client.transport import Transport
from corral.contract.cancellation import TaskCancellationRequest, TaskCancellationResponse
from corral.contract.fleet import (
    ApiKeyCreated,
    ApiKeyList,
    ApiKeyRequest,
    ApiKeyView,
    DeviceList,
    DeviceView,
    DrainRequest,
    HostList,
    HostView,
    Scope,
)
from corral.contract.goals import AgentOptions
from corral.contract.history import ArtifactList, ArtifactView, AttemptList, AttemptView, TaskEventList, TaskEventView
from corral.contract.task_status import TaskStatus
from corral.contract.tasks import TaskDetail, TaskKind, TaskPage, TaskSubmission, TaskView

_FIRST_POLL_SECONDS = 0.1
_LONGEST_POLL_SECONDS = 1.0


class Corral:
    """A control plane at `url`, spoken to with `api_key`. Close it, or use it in a `with` block.

    Every method raises `Refused` (or a subclass) when the API says no, and `Unreachable` when it does not answer;
    calls that are safe to repeat are repeated for about three seconds first. A `url` that does not begin with
    `http://` or `https://` and a host is a `ValueError`.
    """

    def __init__(self, url: str, api_key: str) -> None:
        self._transport = Transport(url, api_key)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    @overload
    def submit(self, flow: str | Path, **options: Unpack[TaskOptions]) -> TaskDetail: ...

    @overload
    def submit(
        self,
        *,
        goal: str,
        verify: str | None = None,
        agent: AgentOptions | None = None,
        **options: Unpack[TaskOptions],
    ) -> TaskDetail: ...

    def submit(  # noqa: D417 - the options are described where they are declared
        self,
        flow: str | Path | None = None,
        *,
        goal: str | None = None,
        verify: str | None = None,
        agent: AgentOptions | None = None,
        idempotency_key: str | None = None,
        **options: Any,
    ) -> TaskDetail:
        """Hand over a flow or a goal; answers the queued task. Other `options` are those of `TaskOptions`.

        A repeated request cannot submit twice: each call has an idempotency key of its own unless you give one, and
        the same key with the same content answers the same task for as long as the API remembers it.

        Args:
            flow: the flow's YAML, or the path of a UTF-8 file with it.
            goal: instead of a flow, what is to be reached, in plain words for an agent.
            verify: what must be seen when the agent has finished, as `when` of a flow's `runFlow`: `visible: Saved`.
            agent: its model or script, budgets and secrets.

        Raises:
            Refused: `invalid_flow` with file, line and command; `invalid_request` with each wrong field.
            pydantic.ValidationError: a value can be seen to be wrong before it is sent.
        """
        submission = TaskSubmission(
            kind=TaskKind.FLOW if goal is None else TaskKind.GOAL,
            flow=flow.read_text(encoding="utf-8") if isinstance(flow, Path) else flow,
            goal=goal,
            verify=verify,
            agent=agent,
            **{name: value for name, value in options.items() if value is not None},
        )
        return self.submit_task(submission, idempotency_key=idempotency_key)

    def submit_task(self, submission: TaskSubmission, *, idempotency_key: str | None = None) -> TaskDetail:
        """The same, with the submission as the contract writes it."""
        headers = {"Idempotency-Key": idempotency_key or str(uuid4())}
        return self._transport.call(TaskDetail, "POST", "/v1/tasks", body=submission, headers=headers)

    def get(self, task_id: UUID) -> TaskDetail:
        """The task as it is now. Raises `TaskNotFound`."""
        return self._transport.call(TaskDetail, "GET", f"/v1/tasks/{task_id}")

    def wait(self, task_id: UUID, *, timeout_seconds: float | None = None) -> TaskDetail:
        """Return the task once it has ended, however it ended. Raises `WaitTimedOut`, and the task goes on."""
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        pause_seconds = _FIRST_POLL_SECONDS
        while not (task := self.get(task_id)).status.is_terminal:
            if deadline is not None and timeout_seconds is not None:
                left_seconds = deadline - time.monotonic()
                if left_seconds <= 0:
                    raise WaitTimedOut(task_id, timeout_seconds)
                pause_seconds = min(pause_seconds, left_seconds)
            time.sleep(pause_seconds)
            pause_seconds = min(pause_seconds * 1.5, _LONGEST_POLL_SECONDS)
        return task

    def cancel(self, task_id: UUID, *, reason: str | None = None) -> TaskCancellationResponse:
        """Ask for the task to be stopped. A queued task is `cancelled` in the answer; of others the host is told.

        Asking twice changes nothing. The request is not lost; `wait` for what comes of it, and read
        `cancellation.outcome`: a task that had all but finished may still end `done`.

        Raises:
            TaskNotFound: there is no such task.
            TaskAlreadyTerminal: it has ended, as done or failed.
        """
        body = TaskCancellationRequest(reason=reason)
        return self._transport.call(TaskCancellationResponse, "POST", f"/v1/tasks/{task_id}/cancel", body=body)

    def page(
        self,
        *,
        statuses: Sequence[TaskStatus] = (),
        is_cancelling: bool | None = None,
        labels: Mapping[str, str] | None = None,
        host_id: UUID | None = None,
        device_id: UUID | None = None,
        batch_id: str | None = None,
        page_token: str | None = None,
        limit: int = 50,
    ) -> TaskPage:
        """One page of tasks, youngest first; give its `next_page_token` back for the next."""
        params = {
            "status": [str(status) for status in statuses] or None,
            "cancelling": None if is_cancelling is None else str(is_cancelling).lower(),
            "label": [f"{key}={value}" for key, value in (labels or {}).items()] or None,
            "host_id": host_id and str(host_id),
            "device_id": device_id and str(device_id),
            "batch_id": batch_id,
            "page_token": page_token,
            "limit": limit,
        }
        return self._transport.call(TaskPage, "GET", "/v1/tasks", params=params)

    def list(self, **filters: Any) -> Iterator[TaskView]:
        """All tasks that meet the filters of `page`, youngest first, fetched as you go."""
        page = self.page(**filters)
        yield from page.tasks
        while page.next_page_token:
            page = self.page(**filters, page_token=page.next_page_token)
            yield from page.tasks

    def events(self, task_id: UUID, *, after: int = 0) -> Sequence[TaskEventView]:
        """What happened to the task, oldest first; `after` the `event_id` that you saw last."""
        params = {"after": after}
        return self._transport.call(TaskEventList, "GET", f"/v1/tasks/{task_id}/events", params=params).events

    def attempts(self, task_id: UUID) -> Sequence[AttemptView]:
        """Each run of the task on a device, in order."""
        return self._transport.call(AttemptList, "GET", f"/v1/tasks/{task_id}/attempts").attempts

    def artifacts(self, task_id: UUID) -> Sequence[ArtifactView]:
        """The files that the runs of the task left behind, such as screenshots. Raises `TaskNotFound`."""
        return self._transport.call(ArtifactList, "GET", f"/v1/tasks/{task_id}/artifacts").artifacts

    def download_artifact(self, task_id: UUID, name: str, *, attempt: int | None = None) -> bytes:
        """One of those files, whole: of that attempt, or of the last that left one of this name.

        Raises:
            Refused: `artifact_not_found` where there is none.
        """
        path = f"/v1/tasks/{task_id}/artifacts/{quote(name, safe='')}"
        return self._transport.download(path, params={"attempt": attempt})

    def hosts(self) -> Sequence[HostView]:
        """The device hosts, with how many devices they have and how many tasks they run."""
        return self._transport.call(HostList, "GET", "/v1/hosts").hosts

    def devices(self) -> Sequence[DeviceView]:
        """The devices of all hosts, with their state and what a person can do about it."""
        return self._transport.call(DeviceList, "GET", "/v1/devices").devices

    def drain(self, host_id: UUID, *, draining: bool = True) -> HostView:
        """Have a host finish what it runs and take no more; `draining=False` ends that."""
        body = DrainRequest(draining=draining)
        return self._transport.call(HostView, "POST", f"/v1/hosts/{host_id}/drain", body=body)

    def revoke_host(self, host_id: UUID) -> HostView:
        """Void a host's credential for good: it gets no tasks, and its runs stop at the latest with their leases."""
        return self._transport.call(HostView, "POST", f"/v1/hosts/{host_id}/revoke")

    def api_keys(self) -> Sequence[ApiKeyView]:
        """All API keys without their secrets, also those that were revoked."""
        return self._transport.call(ApiKeyList, "GET", "/v1/api-keys").keys

    def revoke_api_key(self, key_id: str) -> ApiKeyView:
        """Void a key for good, at once.

        Raises:
            Refused: `key_not_found` where there is none.
        """
        return self._transport.call(ApiKeyView, "DELETE", f"/v1/api-keys/{quote(key_id, safe='')}")

    def create_api_key(self, name: str, *, scopes: Sequence[Scope]) -> ApiKeyCreated:
        """A new key. It is shown in this answer and never again, so the call is not repeated by itself."""
        body = ApiKeyRequest(name=name, scopes=list(scopes))
        return self._transport.call(ApiKeyCreated, "POST", "/v1/api-keys", body=body, is_repeatable=False)

    def is_ready(self) -> bool:
        """Whether the API says that it can work now; false also while nothing answers."""
        return self._transport.succeeds("/readyz")
