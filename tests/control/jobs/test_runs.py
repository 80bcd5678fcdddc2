import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
import structlog
from celery import beat

from control.jobs.celery_app import celery_app
from control.jobs.runs import JobRunner
from control.jobs.schedule import JobQueue, ScheduledJob, scheduled_jobs, sweep_name
from control.operations.plane import Job, Timing
from control.signals.gate import DoorbellGate

ASSIGN_TASKS = next(job for job in scheduled_jobs(Timing()) if job.name == Job.ASSIGN_TASKS)


class Probe:
    """A job that counts its runs and can be held in the middle of one."""

    def __init__(self, *, period_seconds: float = 60.0) -> None:
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.ran_at: list[float] = []
        self.fails = 0
        self.job = ScheduledJob(Job.ASSIGN_TASKS, JobQueue.JOBS, period_seconds, self)

    def __call__(self, _plane: object) -> int:
        self.ran_at.append(time.monotonic())
        assert self.may_go_on.wait(10)
        if self.fails:
            self.fails -= 1
            raise ConnectionError("Postgres is away")
        return 1

    @property
    def runs(self) -> int:
        return len(self.ran_at)


@pytest.fixture
def probe():
    probe = Probe()
    yield probe
    probe.may_go_on.set()


@pytest.fixture
def tick(redis_url):
    """Asks for the sweep as beat does."""
    app = celery_app(redis_url)
    yield lambda: app.send_task(sweep_name(Job.ASSIGN_TASKS), queue="jobs", expires=60, ignore_result=True)
    app.close()


@pytest.fixture
def is_idle(redis_url):
    """Whether no message waits and none is being worked on."""

    def is_idle() -> bool:
        with redis.Redis.from_url(redis_url) as client:
            return client.llen("jobs") == 0 and client.hlen("unacked") == 0

    return is_idle


def test_a_submit_rings_and_the_task_is_assigned_without_beat(
    start_worker, plane, submit, is_assigned, with_device, eventually
):
    start_worker(ASSIGN_TASKS)
    task_id = submit(plane)
    eventually(lambda: is_assigned(task_id), within_seconds=5)


def test_a_hundred_rings_are_few_runs(start_worker, plane, probe, eventually, is_idle):
    for _ in range(50):
        plane.doorbell.ring(Job.ASSIGN_TASKS)
    start_worker(probe.job)
    eventually(lambda: probe.runs >= 1)
    for _ in range(50):
        plane.doorbell.ring(Job.ASSIGN_TASKS)
    eventually(is_idle)
    assert 1 <= probe.runs <= 50 / 2


def test_rings_during_a_run_are_one_more_run(start_worker, plane, probe, eventually, is_idle):
    probe.may_go_on.clear()
    start_worker(probe.job)
    plane.doorbell.ring(Job.ASSIGN_TASKS)
    eventually(lambda: probe.runs == 1)
    for _ in range(10):
        plane.doorbell.ring(Job.ASSIGN_TASKS)
    probe.may_go_on.set()
    eventually(lambda: probe.runs == 2)
    eventually(is_idle)
    assert probe.runs == 2


def test_a_ring_whose_gate_is_stuck_still_runs_its_job(plane, probe, absent_redis_url):
    gate = DoorbellGate(absent_redis_url)
    runner = JobRunner(plane, gate=gate, ran_by="test")
    with structlog.testing.capture_logs() as logs:
        runner.answer_ring(probe.job)
    assert probe.runs == 1
    assert [line["event"] for line in logs] == ["doorbell.gate_stuck", "job.ran"]
    gate.close()


def test_two_ticks_within_a_period_are_one_run(start_worker, probe, tick, eventually, is_idle):
    start_worker(probe.job)
    tick()
    eventually(lambda: probe.runs == 1)
    tick()
    eventually(is_idle)
    assert probe.runs == 1


def test_two_beats_are_one_run_per_period(start_worker, redis_url, eventually):
    probe = Probe(period_seconds=0.5)
    start_worker(probe.job)
    apps = [celery_app(redis_url, jobs=[probe.job]) for _ in range(2)]
    beats = [beat.Service(app, scheduler_cls=app.conf.beat_scheduler) for app in apps]
    threads = [threading.Thread(target=one.start) for one in beats]
    for thread in threads:
        thread.start()
    eventually(lambda: probe.runs >= 5)
    for one in beats:
        one.stop()
    for thread in threads:
        thread.join(10)
    gaps = [later - earlier for earlier, later in itertools.pairwise(probe.ran_at)]
    assert min(gaps) > 0.25, gaps


def test_a_run_is_logged_with_its_name_count_and_time(plane, probe):
    runner = JobRunner(plane, gate=None, ran_by="test")
    with structlog.testing.capture_logs() as logs:
        runner.sweep(probe.job)
        runner.sweep(probe.job)
    (line,) = logs
    assert (line["event"], line["job"], line["count"]) == ("job.ran", "assign_tasks", 1)
    assert line["ms"] >= 0


def test_a_job_that_failed_is_not_repeated_until_its_next_tick(start_worker, tick, eventually, is_idle):
    probe = Probe(period_seconds=0.2)
    probe.fails = 1
    start_worker(probe.job)
    tick()
    eventually(lambda: probe.runs == 1)
    eventually(is_idle)
    assert probe.runs == 1

    def runs_again() -> bool:
        tick()
        return probe.runs == 2

    eventually(runs_again)


def test_of_many_messages_for_one_job_one_runs_one_waits_and_the_others_are_done(plane, probe, redis_url, eventually):
    gate = DoorbellGate(redis_url)
    runner = JobRunner(plane, gate=gate, ran_by="test")
    probe.may_go_on.clear()
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(runner.answer_ring, probe.job)]
        eventually(lambda: probe.runs == 1)
        answers += [pool.submit(runner.answer_ring, probe.job) for _ in range(7)]
        eventually(lambda: sum(answer.done() for answer in answers) == 6)
        assert probe.runs == 1
        probe.may_go_on.set()
    assert probe.runs == 2
    gate.close()
