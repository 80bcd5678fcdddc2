"""A process of its own for the load, so that it never waits for what the benchmark does beside it."""

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Protocol

from tests.bench.load import LoadResult

#: No load lasts longer: a server that answers no more must not hang the benchmarks.
LIMIT_SECONDS = 180.0


class Load(Protocol):
    """Something to send; it crosses to the other process by pickle."""

    def run(self, stop: int) -> LoadResult: ...


class LoadProcess:
    """Runs one load after the other."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def run(self, load: Load) -> LoadResult:
        """Send a load that ends by itself."""
        self.start(load)
        return self.finished()

    def start(self, load: Load) -> None:
        self._pipe.send(load)

    def finished(self) -> LoadResult:
        """What came of the load that was started, once it has ended."""
        if not self._pipe.poll(LIMIT_SECONDS):
            raise TimeoutError(f"a load did not end within {LIMIT_SECONDS} s")
        result = self._pipe.recv()
        if isinstance(result, BaseException):
            raise result
        return result

    def stop(self) -> LoadResult:
        """End the load now."""
        self._pipe.send(None)
        return self.finished()


@contextmanager
def load_process() -> Iterator[LoadProcess]:
    """A process for loads; it ends with the block."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), name="load", daemon=True)
    process.start()
    theirs.close()
    try:
        yield LoadProcess(ours)
    finally:
        ours.close()
        process.terminate()
        process.join()


def _serve(pipe: Connection) -> None:
    while True:
        try:
            load: Load | None = pipe.recv()
        except EOFError:
            return
        if load is None:  # The stop of a load that had ended by itself.
            continue
        try:
            result: LoadResult | Exception = load.run(pipe.fileno())
        except Exception as error:  # noqa: BLE001 - the benchmark raises it
            result = error
        pipe.send(result)
