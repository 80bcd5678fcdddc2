"""The far side and the event loop for these tests."""

from tests.workers.host.far_side import anyio_backend, far_side, plain_log

__all__ = ["anyio_backend", "far_side", "plain_log"]
