"""Whether a process tells traces: as OpenTelemetry's own variables say."""

import os
from collections.abc import Callable, Mapping

import structlog

from corral.traces import spans

log = structlog.get_logger()

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_PROTOCOL = "http/protobuf"

_end: Callable[[], None] | None = None


class TracesNotPossible(Exception):
    """Traces were asked for and cannot be told; the message says what to change."""


def configure_traces(service: str) -> None:
    """Tell traces from here on, if they are wanted; `service` is who this process is, unless OTEL_SERVICE_NAME says so.

    Called once in a process, by its entry point, which calls `end_traces` at its end.

    Raises:
        TracesNotPossible: OpenTelemetry is not installed, or is to speak what it cannot here.
    """
    global _end  # noqa: PLW0603 - the other half of the switch in `corral.traces.spans`
    endpoint = wanted_endpoint(os.environ)
    if endpoint is None:
        return
    try:
        from corral.traces.otlp import Pipeline
    except ModuleNotFoundError as missing:
        if not (missing.name or "").startswith("opentelemetry"):
            raise
        raise TracesNotPossible(
            f"{endpoint} is set, and OpenTelemetry is not installed: install Corral with its extra `traces` "
            "(pip install 'corral[traces]'), or unset the variable"
        ) from missing
    pipeline = Pipeline(service)
    spans.take_spans(pipeline.take)
    _end = pipeline.end
    log.info("traces.on", service=pipeline.service, endpoint=os.environ[endpoint])


def end_traces() -> None:
    """Send what has not been sent yet, and tell no more. It waits for a moment only."""
    global _end
    spans.take_spans(None)
    end, _end = _end, None
    if end:
        end()


def wanted_endpoint(environment: Mapping[str, str]) -> str | None:
    """The variable that says where traces go; None where they are off.

    Raises:
        TracesNotPossible: they are to go over a protocol that is not built in.
    """
    if _value(environment, "OTEL_SDK_DISABLED") == "true" or _value(environment, "OTEL_TRACES_EXPORTER") == "none":
        return None
    endpoint = next((name for name in _ENDPOINTS if _value(environment, name)), None)
    protocol = next((name for name in _PROTOCOLS if _value(environment, name)), None)
    if endpoint and protocol and _value(environment, protocol) != _PROTOCOL:
        raise TracesNotPossible(
            f"{protocol} is {environment[protocol]!r}: Corral tells traces over {_PROTOCOL} only; "
            "collectors listen for that on port 4318"
        )
    return endpoint


def _value(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name, "").strip().lower()
