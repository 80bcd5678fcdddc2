"""Many tasks cancelled at random moments, and the phones' own logs as the witnesses.

`CORRAL_STORM_TASKS` sets how many tasks; the default keeps the suite short.
"""

import os
import random
import threading
import time
from datetime import datetime
from typing import Any

from corral.client import TaskAlreadyTerminal
from corral.contract.task_status import TaskStatus
from tests.journeys.conftest import HOSTS, PHONES_EACH, Site
from tests.journeys.lab import ENDLESS, LEASE_SECONDS, SHORT, Lab, eventually

STORM_TASKS = int(os.environ.get("CORRAL_STORM_TASKS", "40"))


def spans(lab: Lab) -> dict[str, list[tuple[datetime, datetime]]]:
    """When each phone was lent out, by its serial."""
    lent: dict[str, list[tuple[datetime, datetime]]] = {}
    for serial, claimed_at, finished_at in lab.rows(
        "SELECT serial, claimed_at, task_attempts.finished_at FROM task_attempts JOIN devices USING (device_id)"
    ):
        lent.setdefault(serial, []).append((claimed_at, finished_at))
    return lent


def actions_outside_of_any_attempt(site: Site) -> list[tuple[str, str]]:
    lent = spans(site.lab)
    return [
        (phone.serial, entry.command)
        for phone in site.all_phones
        for entry in phone.log.actions
        if not any(
            begin.timestamp() <= entry.started_at <= end.timestamp() for begin, end in lent.get(phone.serial, [])
        )
    ]


def test_tasks_cancelled_at_random_moments_all_end_and_no_phone_is_touched_afterwards(site: Site) -> None:
    lab, chance = site.lab, random.Random(7)  # noqa: S311 - a repeatable order, not a secret
    for phone in site.all_phones:
        phone.log.entries.clear()
    tasks = [lab.submit(SHORT, host=chance.choice(HOSTS)) for _ in range(STORM_TASKS)]
    asked: dict[Any, bool] = {}

    def cancel_some() -> None:
        for task in chance.sample(tasks, k=len(tasks) * 3 // 4):
            time.sleep(chance.random() * 0.2)
            try:
                lab.corral.cancel(task)
            except TaskAlreadyTerminal:
                asked[task] = False
            else:
                asked[task] = True

    canceller = threading.Thread(target=cancel_some)
    canceller.start()
    ended = {task: lab.ended(task, limit_seconds=60 + STORM_TASKS) for task in tasks}
    canceller.join()
    for task, detail in ended.items():
        kinds = lab.kinds(task)
        assert sum(kind in {"done", "failed", "cancelled"} for kind in kinds) == 1, kinds
        assert detail.status is not TaskStatus.FAILED, detail.failure_reason
        if detail.status is TaskStatus.CANCELLED:
            assert asked[task]
        else:
            assert not asked.get(task) or "cancel_requested" in kinds
    assert lab.rows("SELECT count(*) FROM leases") == [(0,)]
    assert actions_outside_of_any_attempt(site) == []


def test_running_tasks_stop_within_a_third_of_a_lease_and_a_step(site: Site) -> None:
    lab = site.lab
    tasks = [lab.submit(ENDLESS, host=host) for host in HOSTS for _ in range(PHONES_EACH)]
    for task in tasks:
        lab.until_step(task, 2)
    for task in tasks:
        lab.corral.cancel(task)
    eventually(lambda: all(lab.corral.get(task).status.is_terminal for task in tasks), what="all cancelled")
    stories = [lab.corral.get(task) for task in tasks]
    assert {story.status for story in stories} == {TaskStatus.CANCELLED}
    latencies = [
        (story.finished_at - story.cancellation.requested_at).total_seconds()
        for story in stories
        if story.finished_at and story.cancellation
    ]
    assert len(latencies) == len(tasks)
    longest_step_seconds = 1.0
    assert max(latencies) < LEASE_SECONDS / 3 + longest_step_seconds + 1, latencies
