"""One line in the log when spans cannot be sent, and one when they can again, whatever happens in between."""

import logging
from collections.abc import Sequence

import structlog
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

log = structlog.get_logger()


class ToldOnce(SpanExporter):
    """Sends what it is given through another exporter, whose own many lines it keeps out of the log.

    Called by one thread at a time.
    """

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._words = _LastWords()
        self._lost = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        if result is SpanExportResult.FAILURE:
            if not self._lost:
                log.warning("traces.not_sent", error=self._words.text)
            self._lost += len(spans)
        elif self._lost:
            log.info("traces.sent_again", lost_spans=self._lost)
            self._lost = 0
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


class _LastWords(logging.Handler):
    """Takes the place of the log for OpenTelemetry, and remembers what was said last."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.text = ""
        library = logging.getLogger("opentelemetry")
        library.handlers = [self]
        library.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        self.text = record.getMessage()
