"""What came of one request."""

from dataclasses import dataclass, field
from typing import Literal

from pydantic_ai.messages import ModelResponse

from workers.agent.messages import AnswerPart
from workers.agent.model.interface import Usage

Cut = Literal["signal", "deadline", "idle", "excess", "defect"]


@dataclass(slots=True)
class Received:
    """What came of a request. `cut` or `error` say why there is no whole answer; `parts` is what was delivered."""

    cut: Cut | None = None
    error: BaseException | None = None
    response: ModelResponse | None = None
    parts: tuple[AnswerPart, ...] = ()
    usage: Usage = field(default_factory=Usage)
    has_sent_deltas: bool = False
