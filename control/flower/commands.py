"""A remote control command as it comes over Celery's mailbox. Everybody who reaches Redis can send one."""

from collections.abc import Iterable
from typing import Any, cast

from kombu.matcher import match  # pyright: ignore[reportMissingTypeStubs] - kombu has no types
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

matches: Any = match
#: The one kind of pattern that is matched: a regular expression can take for ever, and nothing else runs meanwhile.
GLOB = "glob"


class UnreadableCommand(ValueError):
    """This is no command of Celery's remote control; skip it."""


class ReplyTo(BaseModel):
    """Where replies are waited for."""

    exchange: str
    routing_key: str


class Command(BaseModel):
    """One command; what Celery may add to it some day is left out."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    method: str
    arguments: dict[str, Any] = {}
    #: The workers that it is for; all without one.
    destination: list[str] | None = None
    pattern: str | None = None
    matcher: str | None = None
    reply_to: ReplyTo | None = None
    ticket: str | None = None

    @field_validator("arguments", mode="before")
    @classmethod
    def _may_be_missing(cls, arguments: object) -> object:
        return {} if arguments is None else arguments

    @classmethod
    def read(cls, body: object) -> "Command":
        """Raises UnreadableCommand."""
        try:
            return cls.model_validate(body)
        except ValidationError as trouble:
            places = sorted({str(error["loc"][0]) if error["loc"] else "body" for error in trouble.errors()})
            raise UnreadableCommand(f"not as Celery says it: {', '.join(places)}") from None

    @property
    def is_for_some(self) -> bool:
        """It names those whom it is for, or how they are called in a way that can be told."""
        return bool(self.destination) or bool(self.pattern and self.matcher == GLOB)

    def addressed(self, names: Iterable[str]) -> list[str]:
        """Those of these workers that the command is for.

        Raises:
            UnreadableCommand: its pattern is of another kind than `glob`.
        """
        if self.destination:
            return [name for name in names if name in self.destination]
        if not (self.pattern and self.matcher):
            return list(names)
        if self.matcher != GLOB:
            raise UnreadableCommand(f"patterns of the kind {self.matcher[:20]!r} are not matched, only {GLOB!r}")
        return [name for name in names if matches(name, self.pattern, GLOB)]

    @property
    def task_ids(self) -> list[str]:
        """The ids that a `revoke` is about: it names one, or a list of them."""
        said = self.arguments.get("task_id")
        several = cast("list[Any]", said) if isinstance(said, list) else [said]
        return [one for one in several if isinstance(one, str)]
