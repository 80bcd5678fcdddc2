"""The one place that knows OpenTelemetry: finished spans in, batches over OTLP/HTTP out, in the background."""

import threading
from collections.abc import Sequence
from importlib.metadata import version
from uuid import UUID

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import Sampler, SamplingResult
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    TraceState,
    set_span_in_context,
)
from opentelemetry.util.types import Attributes

from corral.traces.ids import SpanPlace
from corral.traces.outages import ToldOnce
from corral.traces.spans import FinishedSpan

#: Of our attributes, so that they meet no others.
_PREFIX = "corral."
#: At the end of a process, for the last spans: who stops a process waits for it.
LONGEST_END_SECONDS = 3.0
_UNTIL_64_BITS = (1 << 64) - 1
#: All UUIDs have the same two bits here, where the lower half begins.
_VARIANT_BITS = 2


class Pipeline:
    """OpenTelemetry's own, with the ids and the sampling of ours; its variables count for everything else."""

    def __init__(self, service: str) -> None:
        resource = Resource.create({}).merge(Resource({"service.name": service, "service.version": version("corral")}))
        resource = resource.merge(OTELResourceDetector().detect())
        self.service = str(resource.attributes["service.name"])
        self._ids = _Ids()
        provider = TracerProvider(resource=resource, id_generator=self._ids, shutdown_on_exit=False)
        provider.sampler = _ByTask(provider.sampler)
        self._processor = BatchSpanProcessor(ToldOnce(OTLPSpanExporter()))
        provider.add_span_processor(self._processor)
        self._tracer = provider.get_tracer("corral")

    def take(self, finished: FinishedSpan) -> None:
        """Put a span into the next batch. It never waits; where batches do not get away, the oldest spans are lost."""
        parent = finished.parent
        self._ids.following = finished.place
        told = {_PREFIX + name: value for name, value in finished.attributes.items() if value is not None}
        span = self._tracer.start_span(
            finished.name,
            # An empty one: nobody else's span that may be current has to do with it.
            set_span_in_context(NonRecordingSpan(_context(parent)), Context()) if parent else Context(),
            attributes={name: str(value) if isinstance(value, UUID) else value for name, value in told.items()},
            links=[Link(_context(finished.link))] if finished.link else None,
            start_time=finished.started_ns,
            record_exception=False,
        )
        for name, at_ns in finished.moments:
            span.add_event(name, timestamp=at_ns)
        if finished.failure:
            span.set_status(Status(StatusCode.ERROR, finished.failure))
        span.end(finished.ended_ns)

    def end(self) -> None:
        """Send the last batch, if that goes quickly."""
        # In a thread, for the exporter tries for longer than anybody wants to wait; it ends with the process.
        last = threading.Thread(target=self._processor.shutdown, name="last spans", daemon=True)
        last.start()
        last.join(LONGEST_END_SECONDS)


def _context(place: SpanPlace) -> SpanContext:
    return SpanContext(place.trace_id, place.span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))


class _Ids(IdGenerator):
    """Gives each span the ids that it has already; for each thread, those of the span that it makes just now."""

    def __init__(self) -> None:
        self._of_thread = threading.local()

    @property
    def following(self) -> SpanPlace:
        place: SpanPlace = self._of_thread.place
        return place

    @following.setter
    def following(self, place: SpanPlace) -> None:
        self._of_thread.place = place

    def generate_span_id(self) -> int:
        return self.following.span_id

    def generate_trace_id(self) -> int:
        return self.following.trace_id


class _ByTask(Sampler):
    """Decides by the task alone, so that all processes keep the same traces, and keep them whole.

    OpenTelemetry's sampler by ratio compares the lower half of the trace id with a bound. In a UUID that half begins
    with two bits that are always the same: at a ratio of a half nothing would be kept, at three quarters everything.
    """

    def __init__(self, configured: Sampler) -> None:
        self._configured = configured

    def should_sample(
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        del parent_context, trace_state
        spread = trace_id << _VARIANT_BITS & _UNTIL_64_BITS
        return self._configured.should_sample(None, spread, name, kind, attributes, links)

    def get_description(self) -> str:
        return f"by task, {self._configured.get_description()}"
