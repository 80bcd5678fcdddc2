"""What the loop needs of a model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol

from workers.agent.cancellation import CancelSignal
from workers.agent.messages import AssistantMessage, Message


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is told of it. `parameters` is a JSON Schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request. `images` holds the bytes, by sha256, of those pictures in `messages` that are to be shown.

    `deadline_at` (boot seconds) is the end of the wall time budget; at it the request ends with `llm_timeout`.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    images: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    deadline_at: float | None = None
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request, all its attempts together; 0 where the provider says nothing."""

    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens)


@dataclass(frozen=True, slots=True)
class Answer:
    """The whole answer, or, with `message.is_interrupted`, the part delivered before the signal fired.

    The parts of an interrupted answer are complete texts so far and only those tool calls that were complete.
    """

    message: AssistantMessage
    usage: Usage


@dataclass(frozen=True, slots=True)
class AnswerDelta:
    """A piece of an answer as it comes. `is_restart`: what came before belongs to a failed attempt, forget it."""

    kind: Literal["text", "thinking"] = "text"
    text: str = ""
    is_restart: bool = False


OnDelta = Callable[[AnswerDelta], None]


class ModelErrorCode(StrEnum):
    """Why a model gave no answer: a closed list. None of them is ever read as success."""

    RATE_LIMITED = "llm_rate_limited"
    TIMEOUT = "llm_timeout"
    EMPTY = "llm_empty"
    UNPARSEABLE = "llm_unparseable"
    REFUSED = "llm_refused"
    AUTH = "llm_auth"
    REJECTED = "llm_rejected"
    CONTEXT_EXCEEDED = "llm_context_exceeded"
    TRUNCATED = "llm_truncated"
    UNAVAILABLE = "llm_unavailable"


class ModelFailed(Exception):
    """The model gave no answer that can be used, after all the attempts that made sense. `usage` is what they cost."""

    def __init__(self, code: ModelErrorCode, message: str, *, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.usage = usage or Usage()


class AgentModel(Protocol):
    """A model by name. One object may serve several agents at once, unless it keeps its place in a script."""

    @property
    def name(self) -> str:
        """As people configure it, such as `openai:gpt-5`."""
        ...

    @property
    def takes_images(self) -> bool:
        """Whether pictures may be shown to it."""
        ...

    async def generate(self, request: ModelRequest, signal: CancelSignal, on_delta: OnDelta) -> Answer:
        """Streams one answer. Returns only when the stream is closed and nothing of it runs any more.

        When the signal fires it closes the stream and returns what was delivered, marked as interrupted.

        Raises:
            ModelFailed: there is no usable answer.
        """
        ...
