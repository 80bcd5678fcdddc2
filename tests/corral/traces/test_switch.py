import subprocess
import sys
from http import HTTPStatus
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from corral.contract.identifiers import uuid7
from corral.stack.ports import free_port
from corral.traces import otlp
from corral.traces.ids import root_of
from corral.traces.spans import NO_SPAN, FinishedSpan, span, work
from corral.traces.switch import TracesNotPossible, configure_traces, wanted_endpoint
from tests.trace_collector import collecting, traced

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
SOMEWHERE = {ENDPOINT: "http://127.0.0.1:4318"}


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, None),
        (SOMEWHERE, ENDPOINT),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://a/v1/traces"}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
        ({ENDPOINT: " "}, None),
        (SOMEWHERE | {"OTEL_SDK_DISABLED": "True"}, None),
        (SOMEWHERE | {"OTEL_TRACES_EXPORTER": "none"}, None),
        (SOMEWHERE | {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, ENDPOINT),
    ],
)
def test_the_standard_variables_turn_traces_on_and_off(environment, wanted):
    assert wanted_endpoint(environment) == wanted


def test_a_protocol_that_is_not_built_in_is_refused_by_its_variable():
    with pytest.raises(TracesNotPossible, match=r"OTEL_EXPORTER_OTLP_PROTOCOL is 'grpc'.*port 4318"):
        wanted_endpoint(SOMEWHERE | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})


def test_what_is_not_installed_is_named_with_the_extra_that_has_it(monkeypatch):
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:4318")
    monkeypatch.delitem(sys.modules, "corral.traces.otlp")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    with pytest.raises(TracesNotPossible, match="install Corral with its extra `traces`"):
        configure_traces("corral-api")


def test_while_traces_are_off_every_span_is_the_same_one_that_does_nothing():
    configure_traces("corral-api")
    assert span("step tapOn", uuid7(), step=1) is work("assign") is NO_SPAN


def test_a_host_imports_nothing_of_opentelemetry_while_traces_are_off():
    code = "import sys, workers.host.main; sys.exit(str([one for one in sys.modules if 'opentelemetry' in one]))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.stderr.strip() == "[]"


def test_a_collector_that_is_gone_delays_nothing_and_is_told_of_once(monkeypatch):
    monkeypatch.setenv(ENDPOINT, f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")
    with capture_logs() as logs, traced("corral-jobs"):
        for _ in range(7):
            with span("claim", uuid7()):
                pass
    assert [line["event"] for line in logs] == ["traces.on", "traces.not_sent"]
    assert "Failed to export spans" in logs[1]["error"]


def test_an_outage_ends_with_a_line_that_counts_what_was_lost(monkeypatch):
    with collecting() as collector, capture_logs() as logs:
        monkeypatch.setenv(ENDPOINT, collector.url)
        collector.status = HTTPStatus.FORBIDDEN
        pipeline = otlp.Pipeline("corral-jobs")
        for status in (HTTPStatus.FORBIDDEN, HTTPStatus.FORBIDDEN, HTTPStatus.OK):
            collector.status = status
            _tell(pipeline, uuid7())
            pipeline._processor.force_flush()
        pipeline.end()
    assert [line["event"] for line in logs] == ["traces.not_sent", "traces.sent_again"]
    assert (logs[1]["lost_spans"], len(collector.spans)) == (2, 1)


def test_the_name_of_a_service_can_be_chosen(monkeypatch):
    with collecting() as collector:
        monkeypatch.setenv(ENDPOINT, collector.url)
        monkeypatch.setenv("OTEL_SERVICE_NAME", "lab-3")
        with traced("corral-host"), span("attempt", uuid7()):
            pass
    assert [one.service for one in collector.spans] == ["lab-3"]


def test_a_sampler_keeps_its_share_of_traces_and_those_whole(monkeypatch):
    tasks = [uuid7() for _ in range(200)]
    with collecting() as collector:
        monkeypatch.setenv(ENDPOINT, collector.url)
        monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
        monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.4")
        with traced("corral-api"):
            for task_id in tasks:
                with span("attempt", task_id), span("step back"):
                    pass
    kept = [one.trace_id for one in collector.spans]
    assert 40 < len(set(kept)) < 120
    assert all(kept.count(trace_id) == 2 for trace_id in kept)


def _tell(pipeline: otlp.Pipeline, task_id: UUID) -> None:
    pipeline.take(FinishedSpan("task", root_of(task_id), None, 1, 2))
