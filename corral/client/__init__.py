"""The SDK: `Corral` speaks to a control plane over HTTP, in the models of `corral.contract`.

    with Corral("http://127.0.0.1:7700", api_key) as corral:
        task = corral.submit(Path("login.yaml"), labels={"team": "shop"})
        task = corral.wait(task.task_id, timeout_seconds=300)
        print(task.status)
        task = corral.submit(goal="Write a note that says hello.", verify="visible: Saved")

What can go wrong is in `corral.client.errors`, all of it a `CorralError`.
"""

from corral.client.corral import Corral
from corral.client.errors import (
    CorralError,
    Refused,
    TaskAlreadyTerminal,
    TaskNotFound,
    Unauthorised,
    Unreachable,
    WaitTimedOut,
)

__all__ = [
    "Corral",
    "CorralError",
    "Refused",
    "TaskAlreadyTerminal",
    "TaskNotFound",
    "Unauthorised",
    "Unreachable",
    "WaitTimedOut",
]
