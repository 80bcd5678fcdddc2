import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from corral.contract.identifiers import uuid7
from corral.traces.ids import SpanPlace, parsed_traceparent, root_of
from corral.traces.spans import record, record_root, span, take_spans, work
from tests.trace_collector import recorded_spans

TASK_ID = UUID("0198c3f2-5a40-7c1e-9d2b-6f0e4a8b1c3d")
ONES, ZEROS = "1" * 16, "0" * 16
AT = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_trace_is_named_by_its_task_and_its_root_by_the_lower_half():
    trace_id, span_id = root_of(TASK_ID)
    assert f"{trace_id:032x}" == TASK_ID.hex
    assert f"{span_id:016x}" == TASK_ID.hex[16:]


def test_ids_that_end_in_zeros_have_a_root_and_the_one_of_only_zeros_has_no_trace():
    assert root_of(UUID(int=5 << 64)) == SpanPlace(5 << 64, 1)
    with recorded_spans() as spans, span("attempt", UUID(int=0)):
        pass
    assert spans == []


@pytest.mark.parametrize(
    "header",
    [
        *(None, "", "00-0-0-01"),
        f"ff-{ONES}{ONES}-{ONES}-01",
        f"00-{ZEROS}{ZEROS}-{ONES}-01",
        f"00-{ONES}{ONES}-{ZEROS}-01",
        f"00-{ONES}{ONES}-{'é' * 16}-01",
    ],
)
def test_a_traceparent_that_cannot_be_read_is_ignored(header):
    assert parsed_traceparent(header) is None


def test_a_span_stands_below_the_one_around_it_unless_that_is_of_another_task():
    other = uuid7()
    with recorded_spans() as spans:
        with span("attempt", TASK_ID), span("step", number=1), span("report", TASK_ID), span("report", other):
            pass
        with span("attempt", other):
            pass
    of_other, report, step, attempt, afterwards = spans
    assert attempt.parent == root_of(TASK_ID)
    assert (step.parent, report.parent) == (attempt.place, step.place)
    assert of_other.parent == afterwards.parent == root_of(other)


def test_work_is_told_to_each_trace_that_it_served_and_to_none_where_it_failed():
    others = [uuid7(), uuid7()]
    with recorded_spans() as spans:
        with work("assign", host="lab") as traced:
            for place, task_id in enumerate(others):
                traced.serve(task_id, place=place)
        with suppress(OSError), work("assign") as traced:
            traced.serve(TASK_ID)
            raise OSError
        with span("step back"):
            pass
    assert [one.parent for one in spans] == [root_of(task_id) for task_id in others]
    assert [one.attributes for one in spans] == [{"host": "lab", "place": 0}, {"host": "lab", "place": 1}]
    assert spans[0].started_ns == spans[1].started_ns
    assert spans[0].place.span_id != spans[1].place.span_id


def test_an_error_is_told_by_its_type_and_never_by_its_message():
    with recorded_spans() as spans, pytest.raises(OSError, match="hunter2"), span("upload", TASK_ID):
        raise OSError("hunter2")
    assert spans[0].failure == "OSError"
    assert "hunter2" not in repr(spans)


def test_known_times_are_kept_to_the_microsecond():
    with recorded_spans() as spans:
        record("queued", TASK_ID, started_at=AT, ended_at=AT + timedelta(microseconds=1))
        record_root("task", TASK_ID, started_at=AT, ended_at=AT, failure="failed", name="login")
    assert spans[0].ended_ns - spans[0].started_ns == 1_000
    assert spans[0].started_ns == 1_767_225_600_000_000_000
    assert (spans[1].place, spans[1].parent, spans[1].attributes) == (root_of(TASK_ID), None, {"name": "login"})


def test_a_span_lasts_as_long_as_its_work_and_its_moments_lie_within():
    with recorded_spans() as spans, span("attempt", TASK_ID) as traced:
        traced.note("cancel seen")
    assert spans[0].started_ns <= spans[0].moments[0][1] <= spans[0].ended_ns <= time.time_ns()


def test_whatever_is_wrong_with_traces_the_work_goes_on():
    take_spans(lambda _finished: 1 / 0)
    try:
        with capture_logs() as logs, span("claim", TASK_ID):
            pass
    finally:
        take_spans(None)
    assert [line["event"] for line in logs] == ["traces.span_lost"]
