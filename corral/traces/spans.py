"""What the rooms call: a span around a piece of work for a task, or one whose times are known from elsewhere.

Attributes are names and numbers: never what a flow types, shows or says, nor the words of an error, which may hold it.
"""

import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Self, TypeAlias
from uuid import UUID

import structlog

from corral.traces.ids import SpanPlace, fresh_span_id, parsed_traceparent, repeatable_span_id, root_of

Attribute: TypeAlias = str | int | float | bool | UUID | None

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class FinishedSpan:
    """What there is to tell of a span. Times are nanoseconds since 1970; `failure` is a word where it failed."""

    name: str
    place: SpanPlace
    parent: SpanPlace | None
    started_ns: int
    ended_ns: int
    attributes: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])
    #: Moments within the span, by name.
    moments: tuple[tuple[str, int], ...] = ()
    link: SpanPlace | None = None
    failure: str | None = None


class Span:
    """A span while traces are off: it takes everything, and does nothing."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Ends the span. An error that passes by makes it a failed one, and is told by its type's name."""

    def set(self, **attributes: Attribute) -> None:
        """Say more of it."""

    def note(self, moment: str) -> None:
        """Something happens within it, now."""

    def fail(self, why: str | None) -> None:
        """It has failed: `why` is a code or another fixed word, never a message."""

    def excuse(self, why: str) -> None:
        """The error that passes by is no failure, only how it ended: `why` is said of it."""

    def link(self, traceparent: str | None) -> None:
        """A caller's own span, as its header says, has to do with this one. What cannot be read is ignored."""

    def serve(self, task_id: UUID, /, **attributes: Attribute) -> None:
        """This work turns out to be for that task: its trace gets the span, unless an error ends the work."""


class _LiveSpan(Span):
    __slots__ = (
        *("_attributes", "_begun_at_ns", "_failure", "_link", "_moments", "_name", "_place", "_previous", "_served"),
        *("_started_ns", "parent"),
    )

    def __init__(self, name: str, parent: SpanPlace | None, attributes: dict[str, Attribute]) -> None:
        self._name = name
        self._place = SpanPlace(parent.trace_id, fresh_span_id()) if parent else None
        self.parent = parent
        self._attributes = attributes
        self._moments: list[tuple[str, int]] = []
        self._served: list[tuple[UUID, dict[str, Attribute]]] = []
        self._link: SpanPlace | None = None
        self._failure: str | None = None
        self._previous: Token[SpanPlace | None] | None = None
        self._started_ns = self._begun_at_ns = 0

    def __enter__(self) -> Self:
        self._started_ns, self._begun_at_ns = time.time_ns(), time.monotonic_ns()
        if self._place:
            self._previous = _around.set(self._place)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._previous:
            _around.reset(self._previous)
        if kind is not None and "ended_by" not in self._attributes:
            self._failure = self._failure or kind.__name__
        ended_ns = self._now_ns()
        if self._place:
            self._tell(self._place, self.parent, ended_ns, self._attributes)
        if kind is None:
            for task_id, attributes in self._served:
                root = root_of(task_id)
                place = SpanPlace(root.trace_id, fresh_span_id())
                self._tell(place, root, ended_ns, self._attributes | attributes)

    def set(self, **attributes: Attribute) -> None:
        self._attributes.update(attributes)

    def note(self, moment: str) -> None:
        self._moments.append((moment, self._now_ns()))

    def fail(self, why: str | None) -> None:
        self._failure = why or "failed"

    def excuse(self, why: str) -> None:
        self._attributes["ended_by"] = why

    def link(self, traceparent: str | None) -> None:
        self._link = parsed_traceparent(traceparent)

    def serve(self, task_id: UUID, /, **attributes: Attribute) -> None:
        self._served.append((task_id, attributes))

    def _now_ns(self) -> int:
        # Counted from the start on a clock that nobody sets: a span must not end before it began.
        return self._started_ns + time.monotonic_ns() - self._begun_at_ns

    def _tell(
        self, place: SpanPlace, parent: SpanPlace | None, ended_ns: int, attributes: Mapping[str, Attribute]
    ) -> None:
        moments = tuple(self._moments)
        _take(
            FinishedSpan(
                self._name, place, parent, self._started_ns, ended_ns, attributes, moments, self._link, self._failure
            )
        )


#: All there is of spans while traces are off.
NO_SPAN = Span()

_around: ContextVar[SpanPlace | None] = ContextVar("span", default=None)
_sink: Callable[[FinishedSpan], None] | None = None


def take_spans(sink: Callable[[FinishedSpan], None] | None) -> None:
    """From now on finished spans go to `sink`, from any thread; None turns traces off."""
    global _sink  # noqa: PLW0603 - one switch for the process, which nobody has to pass on
    _sink = sink


def span(name: str, task_id: UUID | None = None, /, **attributes: Attribute) -> Span:
    """A span for the time of a `with` block.

    It stands below the span around it, if that is of the same trace, else below the root of the task's. With neither
    a task nor a span around it, only what it comes to `serve` gets it.
    """
    if _sink is None:
        return NO_SPAN
    around = _around.get()
    if task_id is not None and (around is None or around.trace_id != task_id.int):
        around = root_of(task_id)
    return _LiveSpan(name, around, attributes)


def work(name: str, /, **attributes: Attribute) -> Span:
    """A span that belongs to nobody until it is said which tasks it serves, each of which gets one of its own."""
    return NO_SPAN if _sink is None else _LiveSpan(name, None, attributes)


def record(
    name: str,
    task_id: UUID,
    /,
    *,
    started_at: datetime,
    ended_at: datetime,
    failure: str | None = None,
    **attributes: Attribute,
) -> None:
    """A span below the root of a task's trace, whose times are known. Told again, it has the same id."""
    root, started_ns = root_of(task_id), _ns(started_at)
    place = SpanPlace(root.trace_id, repeatable_span_id(task_id, name, started_ns))
    _take(FinishedSpan(name, place, root, started_ns, _ns(ended_at), attributes, failure=failure))


def record_root(
    name: str,
    task_id: UUID,
    /,
    *,
    started_at: datetime,
    ended_at: datetime,
    failure: str | None = None,
    **attributes: Attribute,
) -> None:
    """The root span of a task's trace: all other spans that belong to no other stand below it."""
    _take(FinishedSpan(name, root_of(task_id), None, _ns(started_at), _ns(ended_at), attributes, failure=failure))


def _take(finished: FinishedSpan) -> None:
    # The one UUID of only zeros names no trace.
    if _sink is None or not finished.place.trace_id:
        return
    try:
        _sink(finished)
    except Exception:  # whatever is wrong with traces, the work goes on
        log.exception("traces.span_lost", span=finished.name)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def _ns(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND * 1000
