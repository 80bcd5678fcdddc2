"""What the tests of the agent share."""

from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
from structlog.testing import capture_logs


@pytest.fixture
def logged() -> Iterator[list[MutableMapping[str, Any]]]:
    """What was logged; it is not printed."""
    with capture_logs() as entries:
        yield entries
