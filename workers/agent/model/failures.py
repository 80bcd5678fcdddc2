"""Why an attempt gave no answer, and whether another one may."""

import re
from dataclasses import dataclass
from typing import Any, cast

import httpx2
from pydantic_ai import exceptions

from workers.agent.model.connections import AnswerTooLarge, NotAModel
from workers.agent.model.interface import ModelErrorCode

#: Enough for a sentence. A whole body may be a page of HTML, or the request with all its screens.
MAX_MESSAGE_CHARACTERS = 300

#: The body of an error can be megabytes, which nobody reads for keys.
_MAX_READ_CHARACTERS = 10_000

#: What looks like a key: some providers send back the one that they refuse.
_KEYS = re.compile(r"\b(sk|pk|rk)-[\w*-]{6,}|\bAIza[\w*-]{10,}|(?i:\bbearer\s+)[^\s\"',;]+|(?i:\bkey=)[^\s&\"',;]+")

#: Whether another attempt may succeed, in the order in which it is looked up: some kinds are special ones of others.
_KINDS: tuple[tuple[tuple[type[BaseException], ...], ModelErrorCode, bool], ...] = (
    ((exceptions.ModelQuotaExceededError,), ModelErrorCode.RATE_LIMITED, False),
    ((exceptions.ModelRateLimitError,), ModelErrorCode.RATE_LIMITED, True),
    ((exceptions.ModelContextWindowExceededError,), ModelErrorCode.CONTEXT_EXCEEDED, False),
    ((exceptions.ModelAuthenticationError,), ModelErrorCode.AUTH, False),
    (
        (exceptions.ModelTimeoutError, exceptions.ModelRequestTimeout, httpx2.TimeoutException),
        ModelErrorCode.TIMEOUT,
        True,
    ),
    ((AnswerTooLarge,), ModelErrorCode.TRUNCATED, False),
    # A network that wants somebody to sign in answers like this too, for a while.
    ((NotAModel,), ModelErrorCode.UNAVAILABLE, True),
    ((exceptions.ContentFilterError,), ModelErrorCode.REFUSED, False),
    ((exceptions.ModelRequestRejectedError, exceptions.UserError), ModelErrorCode.REJECTED, False),
)


@dataclass(frozen=True, slots=True)
class Failure:
    """`can_retry`: the same request may succeed later. `retry_after_seconds` is what the provider asked for."""

    code: ModelErrorCode
    message: str
    can_retry: bool = False
    retry_after_seconds: float | None = None


def failure_of(error: BaseException) -> Failure:
    """What went wrong when a request ended with this error."""
    code, can_retry = _kind(error)
    if getattr(error, "provider_retry_hint", None) is False:
        can_retry = False
    return Failure(code, _message(error), can_retry, getattr(error, "retry_after", None))


def shown(message: str, *, secrets: tuple[str, ...] = ()) -> str:
    """`message` for people: one line, short, without keys."""
    message = message[:_MAX_READ_CHARACTERS]
    for secret in secrets:
        message = message.replace(secret, "[key]")
    message = _KEYS.sub("[key]", " ".join(message.split()))
    return message if len(message) <= MAX_MESSAGE_CHARACTERS else message[: MAX_MESSAGE_CHARACTERS - 1] + "…"


def _kind(error: BaseException) -> tuple[ModelErrorCode, bool]:
    if isinstance(error, exceptions.UnexpectedModelBehavior) and "without content" in error.message:
        return ModelErrorCode.EMPTY, True
    for kinds, code, can_retry in _KINDS:
        if isinstance(error, kinds):
            return code, can_retry
    if isinstance(error, exceptions.ModelHTTPError):
        return _kind_of_status(error.status_code)
    if isinstance(error, exceptions.ModelAPIError | httpx2.HTTPError | httpx2.StreamError | OSError):
        return ModelErrorCode.UNAVAILABLE, True
    return ModelErrorCode.UNPARSEABLE, True


def _kind_of_status(status: int) -> tuple[ModelErrorCode, bool]:
    if status in (401, 403):
        return ModelErrorCode.AUTH, False
    if status == 408:  # noqa: PLR2004  a status of HTTP
        return ModelErrorCode.TIMEOUT, True
    if status == 429:  # noqa: PLR2004
        return ModelErrorCode.RATE_LIMITED, True
    if 400 <= status < 500:  # noqa: PLR2004
        return ModelErrorCode.REJECTED, False
    return ModelErrorCode.UNAVAILABLE, True


def _message(error: BaseException) -> str:
    if isinstance(error, exceptions.ModelHTTPError):
        said = _said(error.body)
        return f"HTTP {error.status_code}: {said}" if said else f"HTTP {error.status_code}"
    if isinstance(error, exceptions.AgentRunError | exceptions.UserError):
        return error.message
    if isinstance(error, AnswerTooLarge | NotAModel):
        return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _said(body: object) -> str:
    """The sentence in the body of an error, of which only the shape differs."""
    if isinstance(body, dict):
        fields = cast("dict[str, Any]", body)
        for name in ("message", "error", "detail"):
            if said := _said(fields.get(name)):
                return said
        return ""
    # A page of HTML says nothing that its status does not.
    return body if isinstance(body, str) and not body.lstrip().startswith("<") else ""
