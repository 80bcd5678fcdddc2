"""Reports on disk."""

import json
import uuid

import pytest

from corral.contract.host_protocol import TerminalResultRequest
from corral.contract.problems import Problem
from tests.workers.host.far_side import problem
from workers.assignment.spool import Spool, SpooledReport


@pytest.fixture
def spool(tmp_path) -> Spool:
    return Spool(tmp_path)


def a_report(**fields) -> SpooledReport:
    report = TerminalResultRequest(status="failed", cause="task", failure_reason="no such button", **fields)
    return SpooledReport(lease_id=uuid.uuid4(), task_id=uuid.uuid4(), report=report)


def test_what_was_put_waits_until_it_is_removed(spool, tmp_path):
    spooled = a_report(result={"warnings": ["ünïcode ✓"]})
    spool.put(spooled)
    assert Spool(tmp_path).waiting() == [spooled]
    spool.remove(spooled.lease_id)
    assert Spool(tmp_path).waiting() == []


def test_removing_twice_is_no_error(spool):
    spool.remove(uuid.uuid4())


def test_a_refused_report_is_kept_with_the_reason_and_not_sent_again(spool, tmp_path):
    spooled = a_report()
    spool.put(spooled)
    spool.refuse(spooled, Problem.model_validate(problem(409, "result_conflict")[1]))
    assert spool.waiting() == []
    kept = json.loads((tmp_path / "refused" / f"{spooled.lease_id}.json").read_text())
    assert kept["problem"]["code"] == "result_conflict"
    assert kept["report"]["failure_reason"] == "no such button"


def test_a_file_that_cannot_be_read_is_set_aside_and_hides_no_other(spool, tmp_path):
    (tmp_path / "0.json").write_text('{"lease_id": "half a rep')
    spooled = a_report()
    spool.put(spooled)
    assert spool.waiting() == [spooled]
    assert (tmp_path / "refused" / "0.json").exists()


def test_a_write_that_was_cut_off_by_a_crash_is_no_report(spool, tmp_path):
    (tmp_path / f"{uuid.uuid4()}.part").write_text('{"lease_id": ')
    assert spool.waiting() == []
