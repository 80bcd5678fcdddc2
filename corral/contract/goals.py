"""Goals: what an agent is given beside its sentence, and what it says when it has finished."""

from typing import Annotated, Any

from pydantic import Field, model_validator

from corral.contract.models import EnvName, Line, Strict, Text, Tolerant

MAX_SECRETS = 50
#: Steps of an agent, where nobody says how many: enough for a form and a few detours.
DEFAULT_MAX_STEPS = 50

#: The label of devices whose host has a model for goals; its value is the model's name.
AGENT_LABEL = "agent"
#: The label of devices whose host runs goals at all, with or without a model.
GOALS_LABEL = "goals"


class AgentOptions(Strict):
    """How the agent of a goal goes about it; all of it has defaults."""

    model: Line | None = Field(
        default=None, description="Only on hosts that have this model, such as `openai:gpt-5`. Any model where none is."
    )
    script: Text | None = Field(
        default=None, description="Answers to play instead of asking a model, as YAML. Not together with `model`."
    )
    secrets: Annotated[list[EnvName], Field(max_length=MAX_SECRETS)] = Field(
        default_factory=list[str],
        description="Names of secrets that the agent may type. Their values are on the host and nowhere else.",
    )
    max_steps: int = Field(
        default=DEFAULT_MAX_STEPS, ge=1, le=1000, description="Answers of the model, before the run fails."
    )
    max_tokens: int | None = Field(
        default=None, ge=1000, description="Tokens in and out of the model, before the run fails."
    )

    @model_validator(mode="after")
    def _one_planner(self) -> "AgentOptions":
        if self.model is not None and self.script is not None:
            raise ValueError("a script is played instead of a model: give `model` or `script`, not both")
        return self


class AgentView(Tolerant):
    """The same, as answers and assignments carry it."""

    model: str | None = None
    script: str | None = None
    secrets: list[str] = Field(default_factory=list[str])
    max_steps: int = DEFAULT_MAX_STEPS
    max_tokens: int | None = None


class GoalClaim(Tolerant):
    """What the agent says of its own work."""

    status: str = Field(description="`success`, `failure`, or `infeasible`: it cannot be done on this device.")
    message: str = ""
    output: dict[str, Any] | None = None


class GoalVerification(Tolerant):
    """What the screen says, looked at after the agent had finished."""

    condition: str
    holds: bool | None = Field(default=None, description="None where the screen could not be looked at.")
    reason: str | None = None


class GoalUsage(Tolerant):
    """Tokens of all requests to the model, those of subagents included; 0 where its provider says nothing."""

    input_tokens: int = 0
    output_tokens: int = 0


class GoalResult(Tolerant):
    """`result` of a task of kind `goal`: what the agent claims and what was verified, apart."""

    claim: GoalClaim | None = Field(default=None, description="None where the agent did not come to an end.")
    verification: GoalVerification | None = Field(default=None, description="None without `verify`, or without a look.")
    steps: int = Field(default=0, description="Steps that the agent began, without those of its subagents.")
    usage: GoalUsage = GoalUsage()
    model: str = Field(default="", description="The model's name; `scripted` where a script was played.")
    turn_end: str = Field(default="", description="`completed`, `failed`, `budget_exceeded`, `stuck` or `aborted`.")
    notes: list[str] = Field(default_factory=list[str], description="What the agent wrote down on the way.")
    artifacts: list[str] = Field(
        default_factory=list[str], description="Names of what the run handed out: logs, pictures, screenshots of flows."
    )
