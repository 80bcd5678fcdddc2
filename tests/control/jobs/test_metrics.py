import pytest
from celery import signals
from prometheus_client import REGISTRY

from control.jobs.beat import _count_ticks
from control.jobs.metrics import show_jobs
from control.jobs.runs import JobRunner
from control.jobs.schedule import JobQueue, ScheduledJob, sweep_name
from control.operations.cancels import CancelsNotTold
from control.operations.plane import Plane

NAME = "metrics_probe"


def counted(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, {"job_name": NAME, **labels})


def test_each_run_is_counted_by_how_it_went(plane: Plane) -> None:
    show_jobs([NAME])
    assert counted("corral_job_runs_total", outcome="failed") == 0

    def run(operation: object) -> None:
        runner.sweep(ScheduledJob(NAME, JobQueue.JOBS, 60.0, operation))  # type: ignore[arg-type]

    def failing(error: Exception) -> object:
        def fail(_plane: Plane) -> int:
            raise error

        return fail

    def due_again() -> None:
        with plane.database.transaction() as tx:
            tx.run("DELETE FROM job_runs")

    runner = JobRunner(plane, gate=None, ran_by="test")  # type: ignore[arg-type]
    run(lambda _plane: 3)
    run(lambda _plane: 3)
    for error in (CancelsNotTold("two"), ValueError("broken")):
        due_again()
        with pytest.raises(type(error)):
            run(failing(error))
    outcomes = {
        outcome: counted("corral_job_runs_total", outcome=outcome)
        for outcome in ("done", "not_due", "repeated", "failed")
    }
    assert outcomes == {"done": 1, "not_due": 1, "repeated": 1, "failed": 1}
    assert counted("corral_job_rows_total") == 3
    assert counted("corral_job_seconds_count") == 3


def test_beat_counts_its_ticks() -> None:
    _count_ticks({sweep_name(NAME): NAME})
    assert counted("corral_beat_ticks_total") == 0
    for sender in (sweep_name(NAME), "corral.ring.something"):
        signals.after_task_publish.send(sender=sender)
    signals.after_task_publish.disconnect(dispatch_uid="corral ticks")
    assert counted("corral_beat_ticks_total") == 1
