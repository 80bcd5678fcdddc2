"""What any task can be submitted with."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from corral.contract.tasks import Requirement


class TaskOptions(TypedDict, total=False):
    """None, like leaving it out, means the API's default.

    `name` is shown to people; `labels` are for them to filter by. `files` are path → text, `env` values for `${NAME}`
    in flows and in `verify`. `requires` are conditions on the labels of the device. `idempotency_key` names this wish,
    when the caller itself may repeat the call.
    """

    name: str | None
    files: Mapping[str, str] | None
    env: Mapping[str, str] | None
    labels: Mapping[str, str] | None
    requires: Sequence[Requirement] | None
    priority: int | None
    max_attempts: int | None
    timeout_seconds: int | None
    queue_timeout_seconds: int | None
    batch_id: str | None
    idempotency_key: str | None
