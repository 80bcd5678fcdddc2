from pathlib import Path

import pytest

from control.jobs.celery_app import celery_app
from control.jobs.runs import JobRunner, register_jobs
from control.jobs.schedule import JobQueue, ring_name, scheduled_jobs, sweep_name
from control.operations.plane import Job, Timing
from control.signals.gate import DoorbellGate

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "jobs.md"
JOBS = scheduled_jobs(Timing())
NAMES = [job.name for job in JOBS]


@pytest.fixture
def registered(absent_redis_url):
    gate = DoorbellGate(absent_redis_url)
    app = celery_app(absent_redis_url)
    register_jobs(app, JOBS, JobRunner(None, gate=gate, ran_by="test"))
    app.finalize()
    yield {name for name in app.tasks if name.startswith("corral.")}
    gate.close()


def test_a_worker_knows_every_scheduled_job_and_every_job_with_a_doorbell(registered):
    assert registered == {*map(sweep_name, NAMES), *map(ring_name, Job)}


def test_a_job_with_a_doorbell_is_also_swept():
    assert set(Job) <= set(NAMES)


@pytest.mark.parametrize("job", JOBS, ids=NAMES)
def test_every_job_is_documented_with_its_queue(job):
    row = next(line for line in REFERENCE.read_text().splitlines() if line.startswith(f"| `{job.name}` |"))
    assert f"`{job.queue}`" in row


@pytest.mark.parametrize("lease_seconds", [2, 6, 30, 600])
def test_beat_ticks_every_job_and_lets_old_ticks_expire(lease_seconds, absent_redis_url):
    jobs = scheduled_jobs(Timing(lease_seconds=lease_seconds))
    entries = celery_app(absent_redis_url, jobs=jobs).conf.beat_schedule
    assert list(entries) == NAMES
    for job in jobs:
        entry = entries[job.name]
        assert entry["task"] == sweep_name(job.name)
        assert entry["schedule"] == job.period_seconds
        assert entry["options"]["queue"] == job.queue
        assert entry["options"]["expires"] >= 2 * job.period_seconds
        assert entry["options"]["ignore_result"] is True


@pytest.mark.parametrize(("lease_seconds", "period_seconds"), [(2, 1), (6, 1), (18, 3), (30, 5), (600, 5)])
def test_the_reaper_runs_six_times_in_a_lease_within_sense(lease_seconds, period_seconds):
    reaper = scheduled_jobs(Timing(lease_seconds=lease_seconds))[0]
    assert (reaper.name, reaper.period_seconds) == ("reap_expired_leases", period_seconds)


def test_what_ends_lost_leases_waits_behind_nothing_else():
    assert {job.name for job in JOBS if job.queue is JobQueue.REAP} == {
        "reap_expired_leases",
        "release_unclaimed_assignments",
        "mark_silent_hosts_offline",
    }


def test_no_job_is_so_rare_that_a_beat_which_is_restarted_often_never_comes_to_it():
    assert max(job.period_seconds for job in JOBS) <= 60
