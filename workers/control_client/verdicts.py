"""How a call can end other than with its answer, named by what the caller does next."""

from corral.contract.problems import Problem


class Unreachable(Exception):
    """No answer of the control plane came. Ask again: nothing is known about what it did."""


class NotOurs(Unreachable):
    """Something on the way answered in place of the control plane, and may always do so for this call."""


class Refused(Unreachable):
    """The control plane answered with a problem that ends nothing. Ask again; its detail is worth a log line."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.code}: {problem.detail}")
        self.problem = problem


class CallUnknown(Exception):
    """The control plane has no such call: it is older. Do without."""


class CredentialRefused(Exception):
    """The control plane does not know this token. A person has to look."""


class LeaseLost(Exception):
    """This lease has ended; stop the run and claim again."""


class StaleIncarnation(Exception):
    """A later life of this host has spoken; this one must end."""


class ReportRefused(Exception):
    """This report will never be recorded. Keep it as evidence and stop sending it."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.code}: {problem.detail}")
        self.problem = problem
