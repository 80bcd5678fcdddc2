"""Which test runs in which test process: files stay together for their fixtures, and the longest go first."""

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

#: Folders whose files share something that is dear to start, the dearest first: each folder goes to one process.
TOGETHER = (
    *("tests/journeys/", "tests/corral/stack/", "tests/control/jobs/"),
    # The libraries of models and of the protocol take seconds to import.
    *("tests/workers/agent/model/", "tests/workers/agent/acp/"),
)


class ByFile(LoadScopeScheduling):
    """xdist's scheduling by scope, with a file (or one of the folders above) as the scope."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        config.option.loadscopereorder = False  # The order of the collection holds, which `in_order` has made.
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return next((folder for folder in TOGETHER if nodeid.startswith(folder)), nodeid.partition("::")[0])


def in_order(items: list[pytest.Item]) -> None:
    """Bring what takes longest to the front, so that no process is left with it at the end."""
    rank = {folder: number for number, folder in enumerate(TOGETHER)}
    items.sort(
        key=lambda item: min((rank[name] for name in TOGETHER if item.nodeid.startswith(name)), default=len(rank))
    )
