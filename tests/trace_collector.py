"""A collector of traces for tests: a real OTLP/HTTP server, and the spans that came, in plain words."""

import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from corral.traces.spans import FinishedSpan, take_spans
from corral.traces.switch import configure_traces, end_traces


@dataclass(frozen=True)
class CollectedSpan:
    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, Any]
    links: list[str]
    failure: str | None
    lasted_ns: int


@dataclass
class Collector:
    """Answers with `status`; counts what it was asked."""

    url: str
    status: HTTPStatus = HTTPStatus.OK
    requests: int = 0
    spans: list[CollectedSpan] = field(default_factory=list)

    def take(self, body: bytes) -> None:
        self.requests += 1
        if self.status is HTTPStatus.OK:
            self.spans.extend(_spans(ExportTraceServiceRequest.FromString(body)))


@contextmanager
def collecting() -> Generator[Collector]:
    """A collector on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.take(body)
            self.send_response(collector.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: Any) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        collector = Collector(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def traced(service: str) -> Generator[None]:
    """Traces are told inside the block, as the environment says, and sent by its end."""
    configure_traces(service)
    try:
        yield
    finally:
        end_traces()


@contextmanager
def recorded_spans() -> Generator[list[FinishedSpan]]:
    """The spans that end in the block, without OpenTelemetry."""
    spans: list[FinishedSpan] = []
    take_spans(spans.append)
    try:
        yield spans
    finally:
        take_spans(None)


def _spans(request: ExportTraceServiceRequest) -> Generator[CollectedSpan]:
    for resource in request.resource_spans:
        service = _plain(resource.resource.attributes)["service.name"]
        for span in (span for scope in resource.scope_spans for span in scope.spans):
            yield CollectedSpan(
                service,
                span.name,
                span.trace_id.hex(),
                span.span_id.hex(),
                span.parent_span_id.hex(),
                _plain(span.attributes),
                [f"{link.trace_id.hex()}-{link.span_id.hex()}" for link in span.links],
                span.status.message if span.status.code == span.status.STATUS_CODE_ERROR else None,
                span.end_time_unix_nano - span.start_time_unix_nano,
            )


def _plain(attributes: Iterable[KeyValue]) -> dict[str, Any]:
    return {one.key: getattr(one.value, str(one.value.WhichOneof("value"))) for one in attributes}
