"""What can go wrong between a caller and the control plane, named by what the caller does next."""

from uuid import UUID

from corral.contract.problems import Problem, ProblemCode


class CorralError(Exception):
    """The call did not succeed."""


class Unreachable(CorralError):
    """Try again later: nothing answered, or it was not Corral, or Corral is in trouble itself, as `problem` says."""

    def __init__(self, detail: str, problem: Problem | None = None) -> None:
        super().__init__(detail)
        self.problem = problem


class Refused(CorralError):
    """Correct the request: the API understood it and said no. `problem` says why; nothing was changed."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


class Unauthorised(Refused):
    """Use another key: this one is unknown, or lacks the scope that the detail names."""


class TaskNotFound(Refused):
    """There is no such task."""


class TaskAlreadyTerminal(Refused):
    """The task has ended by itself; `problem.context["task_status"]` says how."""


class WaitTimedOut(CorralError):
    """The task goes on; wait again, or cancel it."""

    def __init__(self, task_id: UUID, timeout_seconds: float) -> None:
        super().__init__(f"task {task_id} has not ended within {timeout_seconds:g} s; it goes on")
        self.task_id = task_id


_BY_CODE: dict[ProblemCode, type[Refused]] = {
    ProblemCode.UNAUTHENTICATED: Unauthorised,
    ProblemCode.FORBIDDEN: Unauthorised,
    ProblemCode.TASK_NOT_FOUND: TaskNotFound,
    ProblemCode.TASK_ALREADY_TERMINAL: TaskAlreadyTerminal,
}


def refusal(problem: Problem) -> Refused:
    """The error that stands for a problem document."""
    return _BY_CODE.get(problem.code, Refused)(problem)
