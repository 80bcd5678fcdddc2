"""One leader, by a lock that ends with its connection."""

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy.exc import DBAPIError

from control.flower.leadership import Leadership
from control.store.database import Database
from control.store.job_runs import Lock
from control.store.leadership import SessionLock
from tests.control.flower.listening import eventually

MakeLock = Callable[[], SessionLock]


@pytest.fixture
def make_lock(database: Database) -> Iterator[MakeLock]:
    url = database._engine.url.render_as_string(hide_password=False)
    made: list[SessionLock] = []

    def make_lock() -> SessionLock:
        made.append(SessionLock(url, Lock.LEAD_BRIDGE, application_name="test"))
        return made[-1]

    yield make_lock
    for lock in made:
        lock.close()


def end_session(database: Database, session: int) -> None:
    with database.statement() as tx:
        tx.run("SELECT pg_terminate_backend(:session)", session=session)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now

    def later(self, seconds: float) -> None:
        self.now += seconds


def test_one_holds_the_lock_until_it_ends(make_lock: MakeLock):
    first, second = make_lock(), make_lock()
    session = first.take()
    assert session is not None
    assert first.take() == session
    assert second.take() is None
    first.close()
    # Postgres takes a moment to see that the connection has ended.
    eventually(second.take)
    assert second.take() != session


def test_the_server_ends_a_session_that_is_cut_off_from_it_or_whose_process_is_frozen(make_lock: MakeLock):
    lock = make_lock()
    lock.take()
    assert lock._connection is not None
    shown = lock._connection.exec_driver_sql(
        "SELECT current_setting('tcp_keepalives_idle'), current_setting('tcp_keepalives_interval'),"
        " current_setting('tcp_keepalives_count'), current_setting('tcp_user_timeout'),"
        " current_setting('idle_session_timeout')"
    ).one()
    assert tuple(shown) == ("4", "3", "3", "13000", "13s")


def test_a_leader_whose_connection_died_knows_it_is_none_and_another_one_leads(make_lock: MakeLock, database: Database):
    clock = Clock()
    first, second = Leadership(make_lock(), clock=clock), Leadership(make_lock(), clock=clock)
    first.seek()
    second.seek()
    assert (first.is_held, second.is_held) == (True, False)
    assert first.term is not None
    end_session(database, first.term)
    clock.later(1.0)
    second.seek()
    with pytest.raises(DBAPIError):
        first.seek()
    assert (first.is_held, second.is_held) == (False, True)
    clock.later(1.0)
    first.seek()
    assert first.term is None


def test_a_leader_that_cannot_ask_takes_itself_for_none_before_anybody_else_may_lead(make_lock: MakeLock):
    clock = Clock()
    leadership = Leadership(make_lock(), clock=clock)
    leadership.seek()
    clock.later(Leadership.SURE_SECONDS - 0.1)
    assert leadership.is_held
    clock.later(0.2)
    assert not leadership.is_held


def test_a_lock_that_was_lost_and_found_again_is_another_term(make_lock: MakeLock, database: Database):
    clock = Clock()
    leadership = Leadership(make_lock(), clock=clock)
    leadership.seek()
    term = leadership.term
    assert term is not None
    end_session(database, term)
    clock.later(1.0)
    with pytest.raises(DBAPIError):
        leadership.seek()
    clock.later(1.0)
    leadership.seek()
    assert leadership.term not in {None, term}
