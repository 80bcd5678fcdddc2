from collections.abc import Iterator

import pytest

from tests.corral.fake_api import FakeApi, serve


@pytest.fixture
def api() -> Iterator[FakeApi]:
    """The far side: answers what a test tells it to."""
    with serve() as fake:
        yield fake
