"""What `inspect` answers for device hosts: the fleet in the words that Celery's own workers use.

Celery has no types for these answers, and Flower's page of a worker fails where a field is missing: each is shaped as
in `celery.worker.control`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from control.flower.device_tasks import shown_arguments, task_name
from control.operations.fleet_workers import QUEUE_WORKER, REAPER_WORKER, WorkerTask, WorkerView
from corral.contract.tasks import TaskKind

Answer = Callable[["Inspected"], Any]


@dataclass(frozen=True, slots=True)
class Inspected:
    """What one worker is asked about: a host, or a name under which the control plane itself acts."""

    name: str
    #: The broker as Flower shows it, without credentials.
    broker: Mapping[str, Any]
    host: WorkerView | None = None
    reserved: Sequence[WorkerTask] = ()

    @property
    def running(self) -> Sequence[WorkerTask]:
        return self.host.running if self.host else ()


def inspected_fleet(
    hosts: Sequence[WorkerView], queued: Sequence[WorkerTask], *, broker: Mapping[str, Any]
) -> dict[str, Inspected]:
    """Every worker that can be asked, by its name."""
    workers = [Inspected(host.name, broker, host, host.assigned) for host in hosts]
    workers.append(Inspected(QUEUE_WORKER, broker, reserved=queued))
    workers.append(Inspected(REAPER_WORKER, broker))
    return {worker.name: worker for worker in workers}


def _ping(_: Inspected) -> dict[str, str]:
    return {"ok": "pong"}


def _stats(worker: Inspected) -> dict[str, Any]:
    devices = worker.host.devices if worker.host else 0
    return {
        "broker": dict(worker.broker),
        "clock": "0",
        "pid": None,
        "pool": {
            "implementation": "device host" if worker.host else "control plane",
            "max-concurrency": devices,
            "processes": [task.serial for task in worker.running],
        },
        "prefetch_count": devices,
        "total": {"device tasks": worker.host.finished} if worker.host else {},
        "rusage": None,
    }


def _active(worker: Inspected) -> list[dict[str, Any]]:
    return [_task(task, worker, is_running=True) for task in worker.running]


def _reserved(worker: Inspected) -> list[dict[str, Any]]:
    return [_task(task, worker, is_running=False) for task in worker.reserved]


def _scheduled(_: Inspected) -> list[Any]:
    return []


def _revoked(worker: Inspected) -> list[str]:
    return [str(task.task_id) for task in (*worker.running, *worker.reserved) if task.cancel_requested_at]


def _registered(worker: Inspected) -> list[str]:
    return [task_name(kind) for kind in TaskKind] if worker.host or worker.name == QUEUE_WORKER else []


def _active_queues(_: Inspected) -> list[Any]:
    # Hosts take their work over HTTP.
    return []


def _conf(worker: Inspected) -> dict[str, Any]:
    if worker.host is None:
        return {}
    return {
        "corral_host_id": str(worker.host.host_id),
        "corral_version": worker.host.version,
        "corral_labels": dict(worker.host.labels),
        "corral_devices": worker.host.devices,
        "corral_is_draining": worker.host.is_draining,
        "corral_is_online": worker.host.is_online,
    }


def _task(task: WorkerTask, worker: Inspected, *, is_running: bool) -> dict[str, Any]:
    return {
        "id": str(task.task_id),
        "name": task_name(task.task_kind),
        "args": [],
        "kwargs": shown_arguments(task),
        "type": task_name(task.task_kind),
        "hostname": worker.name,
        "time_start": task.since.timestamp() if is_running else None,
        "acknowledged": True,
        "delivery_info": {"exchange": "", "routing_key": "", "priority": None, "redelivered": task.attempt > 1},
        "worker_pid": None,
    }


#: The whole of what is answered; on everything else, `hello` among it, a device host has nothing to say.
ANSWERS: Mapping[str, Answer] = {
    "ping": _ping,
    "stats": _stats,
    "active": _active,
    "reserved": _reserved,
    "scheduled": _scheduled,
    "revoked": _revoked,
    "registered": _registered,
    "active_queues": _active_queues,
    "conf": _conf,
}
