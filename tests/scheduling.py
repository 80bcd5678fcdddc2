"""Which test runs in which test process: files stay together for their fixtures, and the longest go first."""

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

#: What shares something that is dear to start, the dearest first: what begins with one of these goes to one process.
TOGETHER = (
    ("tests/corral/stack/",),
    # All of Corral, imported in a process that others are forked from.
    (
        "tests/journeys/test_versions.py",
        "tests/control/jobs/",
        "tests/control/api/test_server.py",
        "tests/workers/host/test_process.py",
    ),
    ("tests/journeys/",),
    # A browser, and two lives of Flower.
    ("tests/control/flower/test_pages.py",),
    # The libraries of models and of the protocol take seconds to import.
    ("tests/workers/agent/model/",),
    ("tests/workers/agent/acp/",),
)
#: Its place there, by what a test's name begins with.
RANKS = {beginning: rank for rank, beginnings in enumerate(TOGETHER) for beginning in beginnings}


class ByFile(LoadScopeScheduling):
    """xdist's scheduling by scope, with a file (or what goes together, as above) as the scope."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        config.option.loadscopereorder = False  # The order of the collection holds, which `in_order` has made.
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        rank = _rank(nodeid)
        return nodeid.partition("::")[0] if rank is None else TOGETHER[rank][0]


def in_order(items: list[pytest.Item]) -> None:
    """Bring what takes longest to the front, so that no process is left with it at the end."""
    items.sort(key=lambda item: len(TOGETHER) if (rank := _rank(item.nodeid)) is None else rank)


def _rank(nodeid: str) -> int | None:
    return next((rank for beginning, rank in RANKS.items() if nodeid.startswith(beginning)), None)
