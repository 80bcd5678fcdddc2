"""The peers, with their workers, as contestants of the whole life of a task."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import psycopg
import redis

from tests.bench.peers import celery_peer, pgqueuer_peer, procrastinate_peer
from tests.bench.rounds import Sample, take
from tests.bench.stand import Stand

DATABASE = "peers"
LIMIT_SECONDS = 120.0
LOOK_SECONDS = 0.01

Enqueue = Callable[[int], None]


def peer_queues(stand: Stand) -> dict[str, Enqueue]:
    """Ways to enqueue so many tasks one by one, each into the peer's own queue, which is made here."""
    stand.postgres.ensure_database(DATABASE)
    url = stand.postgres.url(DATABASE)
    procrastinate_peer.prepare(url)
    pgqueuer_peer.prepare(url)
    return {
        "procrastinate": partial(procrastinate_peer.enqueue, url),
        "pgqueuer": partial(pgqueuer_peer.enqueue, url),
        "celery": partial(celery_peer.enqueue, _broker(stand)),
    }


@contextmanager
def peers(stand: Stand, queues: Mapping[str, Enqueue], *, tasks: int) -> Iterator[dict[str, Callable[[], Sample]]]:
    """Each peer's turn: enqueue all tasks while the worker takes them, and wait for the last one."""
    url = stand.postgres.url(DATABASE)
    addresses = {"procrastinate": url, "pgqueuer": url, "celery": _broker(stand)}
    for name, address in addresses.items():
        stand.start(name, f"tests.bench.peers.{name}_peer", address)
    client = redis.Redis.from_url(_broker(stand))
    with psycopg.connect(url, autocommit=True) as connection:
        unfinished: dict[str, Callable[[], int]] = {
            "procrastinate": lambda: procrastinate_peer.unfinished(connection),
            "pgqueuer": lambda: pgqueuer_peer.unfinished(connection),
            "celery": lambda: celery_peer.unfinished(client),
        }
        yield {f"{name}_life": partial(_turn, stand, name, queues[name], unfinished[name], tasks) for name in queues}
    client.close()
    for name in addresses:
        stand.programs[name].stop()


def _turn(stand: Stand, name: str, enqueue: Enqueue, unfinished: Callable[[], int], tasks: int) -> Sample:
    def whole_life() -> int:
        enqueue(tasks)
        deadline = time.monotonic() + LIMIT_SECONDS
        while unfinished():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{name} did not finish {tasks} tasks within {LIMIT_SECONDS} s")
            time.sleep(LOOK_SECONDS)
        return tasks

    cpu = stand.cpu_of(name, "postgres", "valkey")
    return take(whole_life, {"worker": cpu.pop(name), **cpu})


def _broker(stand: Stand) -> str:
    return stand.valkey.url.removesuffix("/0") + "/1"
