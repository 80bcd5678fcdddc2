"""Many leases renewed by one statement: each host is told of its own, whoever else is in it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from control.operations.leases import renew_leases
from control.operations.reap import reap_expired_leases
from control.store.database import Database
from control.store.leases import Renewal
from corral.contract.host_protocol import Assignment
from corral.contract.identifiers import uuid7
from tests.control.fleet import Fleet, Host
from tests.control.together import at_once, until_somebody_waits


def renewal(host: Host, assignment: Assignment, text: str | None = None, **more: Any) -> Renewal:
    progress = f'{{"step":1,"text":"{text}"}}' if text else None
    return Renewal(str(assignment.lease_id), str(host.host_id), progress, **more)


def busy(fleet: Fleet, *serials: str, name: str = "bench") -> tuple[Host, list[Assignment]]:
    """A host with a task on each of its devices."""
    host = fleet.host(*serials, name=name)
    return host, [fleet.running(host) for _ in serials]


def text_of(fleet: Fleet, assignment: Assignment) -> str | None:
    progress = fleet.show(assignment.task_id).progress
    return progress.text if progress else None


def test_answers_come_in_the_order_of_the_renewals(fleet: Fleet) -> None:
    host, (one, two, three) = busy(fleet, "A", "B", "C")
    fleet.cancel(two.task_id)
    host.report(three, "done")
    asked = [renewal(host, three), renewal(host, two), Renewal(str(uuid7()), str(host.host_id)), renewal(host, one)]
    assert renew_leases(fleet.plane, asked).cancelled == [None, True, None, False]
    assert renew_leases(fleet.plane, asked[::-1]).cancelled == [False, None, True, None]


def test_nothing_to_renew_is_nothing(fleet: Fleet) -> None:
    host, (one,) = busy(fleet, "A")
    assert renew_leases(fleet.plane, []).cancelled == []
    assert renew_leases(fleet.plane, [renewal(host, one)]).others == {}


def test_a_lease_that_is_named_twice_is_renewed_once_with_what_was_said_last(fleet: Fleet) -> None:
    host, (one,) = busy(fleet, "A")
    fleet.cancel(one.task_id)
    renewed = renew_leases(
        fleet.plane,
        [
            renewal(host, one, "first"),
            renewal(host, one, cancel_seen=True),
            renewal(host, one, "last"),
            renewal(host, one),
        ],
    )
    assert renewed.cancelled == [True] * 4
    assert text_of(fleet, one) == "last"
    assert fleet.kinds(one.task_id)[-2:] == ["cancel_delivered", "cancel_seen"]


def test_what_a_host_says_of_anothers_lease_is_neither_heard_nor_told(fleet: Fleet) -> None:
    host, (mine,) = busy(fleet, "A")
    other, (theirs,) = busy(fleet, "B", name="other")
    for first, second in ((host, other), (other, host)):
        asked = [
            renewal(first, mine, f"{first.host_id}", cancel_seen=True),
            renewal(second, mine, f"{second.host_id}", cancel_seen=True),
            renewal(first, theirs, f"{first.host_id}", cancel_seen=True),
            renewal(second, theirs, f"{second.host_id}", cancel_seen=True),
        ]
        answers = dict(
            zip([(one.lease_id, one.host_id) for one in asked], renew_leases(fleet.plane, asked).cancelled, strict=True)
        )
        assert {key for key, answer in answers.items() if answer is not None} == {
            (str(mine.lease_id), str(host.host_id)),
            (str(theirs.lease_id), str(other.host_id)),
        }
        assert text_of(fleet, mine) == str(host.host_id)
        assert text_of(fleet, theirs) == str(other.host_id)
    assert "cancel_seen" not in fleet.kinds(mine.task_id)


def test_leases_that_a_host_did_not_name_are_found_for_those_who_ask(fleet: Fleet) -> None:
    host, (one, two) = busy(fleet, "A", "B")
    other, (theirs, unnamed) = busy(fleet, "C", "D", name="other")
    asked = [renewal(host, one), renewal(other, theirs)]
    assert renew_leases(fleet.plane, asked, hosts_to_check=[str(host.host_id)]).others == {
        str(host.host_id): [two.lease_id]
    }
    both = [str(host.host_id), str(other.host_id), str(host.host_id)]
    assert renew_leases(fleet.plane, asked, hosts_to_check=both).others == {
        str(host.host_id): [two.lease_id],
        str(other.host_id): [unnamed.lease_id],
    }


def test_a_batch_in_the_same_instant_as_reaper_results_and_cancels_decides_each_lease_once(fleet: Fleet) -> None:
    host = fleet.host(*"ABCDEFGHI")
    for _ in range(3):
        running = [fleet.running(host, max_attempts=1) for _ in host.serials]
        expired, reported, cancelled = running[:3], running[3:6], running[6:]
        for assignment in expired:
            fleet.expire(assignment)
        asked = [renewal(host, assignment) for assignment in running]
        first, second, reaped, *_ = at_once(
            lambda asked=asked: renew_leases(fleet.plane, asked).cancelled,
            lambda asked=asked[::-1]: renew_leases(fleet.plane, asked).cancelled[::-1],
            lambda: reap_expired_leases(fleet.plane),
            *[lambda one=one: host.report(one, "done") for one in reported],
            *[lambda one=one: fleet.cancel(one.task_id) for one in cancelled],
        )
        last = renew_leases(fleet.plane, asked).cancelled
        assert sum(answer is None for answer in last[:3]) == reaped
        assert last[3:] == [None] * 3 + [True] * 3
        for earlier in (first, second):
            # What was gone stays gone, and a cancel that was told stays told.
            assert all(now is None for now, then in zip(last, earlier, strict=True) if then is None)
            assert all(now is not False for now, then in zip(last, earlier, strict=True) if then)
        for assignment, is_cancelled in zip(running, last, strict=True):
            if is_cancelled is not None:
                host.report(assignment, "cancelled" if is_cancelled else "done")


def test_a_batch_that_met_a_deadlock_is_made_again(fleet: Fleet, database: Database) -> None:
    host, running = busy(fleet, "A", "B")
    one, other = sorted(running, key=lambda assignment: assignment.lease_id)
    own = Database.connect(
        database._engine.url.render_as_string(hide_password=False),
        pool_size=1,
        application_name="test",
        is_for_one_thread=True,
    )
    lock = "SELECT count(*) FROM (SELECT FROM leases WHERE lease_id = :lease_id FOR UPDATE) AS lease"
    with ThreadPoolExecutor(1) as elsewhere:
        with database.transaction() as tx:
            tx.value(lock, lease_id=other.lease_id)
            with own.statement() as statement:
                # It looks first, and so it is the one that is ended.
                statement.run("SET deadlock_timeout = '300ms'")
            renewing = elsewhere.submit(
                renew_leases, replace(fleet.plane, database=own), [renewal(host, one), renewal(host, other)]
            )
            until_somebody_waits(database)
            tx.value(lock, lease_id=one.lease_id)
        assert renewing.result(10).cancelled == [False, False]
    own.close()
