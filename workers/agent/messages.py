"""What a model is told and what it answers, in our words. The session's log is made of these, and the adapters of
`workers.agent.model` translate them for each provider.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Frozen(BaseModel):
    """A value that never changes, and is refused when it is read with a field that does not belong to it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Image(Frozen):
    """A picture by its content: the bytes are kept beside the log, under `sha256`."""

    sha256: str
    media_type: str = "image/png"


class TextPart(Frozen):
    """What the model said."""

    kind: Literal["text"] = "text"
    text: str


class ThinkingPart(Frozen):
    """What the model thought. `signature` and `part_id` are for its own `provider` alone, which may ask for them."""

    kind: Literal["thinking"] = "thinking"
    text: str
    signature: str | None = None
    part_id: str | None = None
    provider: str | None = None


class ToolCall(Frozen):
    """`arguments` as the model wrote them, already parsed as JSON; not yet checked against the tool.

    `signature` is for the call's own `provider` alone, which may ask for it.
    """

    kind: Literal["tool_call"] = "tool_call"
    call_id: str
    tool: str
    arguments: dict[str, Any]
    signature: str | None = None
    provider: str | None = None


AnswerPart = Annotated[TextPart | ThinkingPart | ToolCall, Field(discriminator="kind")]

ToolStatus = Literal["done", "failed", "unknown", "refused", "aborted", "aborted_before_dispatch"]


class UserMessage(Frozen):
    """A prompt, a steering text, or a hint of the loop itself."""

    role: Literal["user"] = "user"
    text: str
    source: Literal["prompt", "steering", "loop"] = "prompt"


class AssistantMessage(Frozen):
    """An answer. `is_interrupted`: the turn was cancelled while it streamed, and these are the parts delivered."""

    role: Literal["assistant"] = "assistant"
    parts: tuple[AnswerPart, ...]
    is_interrupted: bool = False

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


class ToolMessage(Frozen):
    """What came of one call. `code` is a word of a closed list where it is not `done`."""

    role: Literal["tool"] = "tool"
    call_id: str
    tool: str
    status: ToolStatus
    text: str
    code: str | None = None
    images: tuple[Image, ...] = ()


Message = Annotated[UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]
