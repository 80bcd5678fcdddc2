"""Which agent the running code belongs to: one variable that holds the agent and nothing else.

It follows whatever the agent's driver starts, for as long as that lives, so it proves nothing about a turn: it grants
no signal and no right to cancel. Those are arguments.
"""

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workers.agent.agent import Agent

_current_agent: ContextVar["Agent | None"] = ContextVar("corral_agent", default=None)


def current_agent() -> "Agent | None":
    """The agent in whose driver this code runs, the innermost where agents are nested, or None."""
    return _current_agent.get()


def run_as(agent: "Agent") -> None:
    """Everything that this task does and starts from here on belongs to `agent`."""
    _current_agent.set(agent)
