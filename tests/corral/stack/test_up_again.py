"""A stack that ends, by request and by force, and what the next one finds. Without hosts, which would cost time."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.client import Corral
from corral.stack.state_folder import StackFolder
from tests.corral.stack.up import family, new_state_dir, until_gone, up

pytestmark = pytest.mark.timeout(240)
WITHOUT_HOSTS = ("--hosts", "0", "--phones", "0")


@pytest.fixture
def state_dir() -> Iterator[Path]:
    with new_state_dir() as folder:
        yield folder


def test_nothing_is_left_running_and_the_next_up_goes_on_with_the_same_data(state_dir: Path) -> None:
    with up(state_dir, *WITHOUT_HOSTS) as first:
        before = first.ready
        with Corral(before["api_url"], before["api_key"]) as corral:
            task = corral.submit("appId: com.example\n---\n- back\n")
        processes = family(first.process.pid)
        assert StackFolder(state_dir).running() is not None
        printed = first.end(signal.SIGINT)
        assert first.process.returncode == 0, printed
        assert before["api_url"] in printed
    until_gone(processes)
    assert StackFolder(state_dir).running() is None

    with up(state_dir, *WITHOUT_HOSTS) as second:
        after = second.ready
        unchanging = ("api_url", "api_key", "join_token", "database_url", "redis_url")
        assert [after[name] for name in unchanging] == [before[name] for name in unchanging]
        with Corral(after["api_url"], after["api_key"]) as corral:
            assert [view.task_id for view in corral.list()] == [task.task_id]
        processes = family(second.process.pid)
        second.process.kill()
        second.process.wait()
        until_gone(processes)
