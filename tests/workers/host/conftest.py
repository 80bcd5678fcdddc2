"""The far side, a host at it and the event loop for these tests."""

from tests.workers.host.bench import bench
from tests.workers.host.far_side import anyio_backend, far_side, plain_log

__all__ = ["anyio_backend", "bench", "far_side", "plain_log"]
