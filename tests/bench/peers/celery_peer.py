"""Celery with Redis as its broker: `python -m tests.bench.peers.celery_peer redis://…` is its worker."""

import sys

import redis
from celery import Celery


def make_app(url: str) -> Celery:
    app = Celery("peer", broker=url)

    @app.task(name="no_op", ignore_result=True)
    def no_op() -> None: ...

    return app


def enqueue(url: str, count: int) -> None:
    app = make_app(url)
    for _ in range(count):
        app.send_task("no_op", ignore_result=True)
    app.close()


def unfinished(client: "redis.Redis") -> int:
    return int(client.llen("celery")) + int(client.hlen("unacked"))


def main(url: str) -> None:
    make_app(url).Worker(loglevel="WARNING").start()


if __name__ == "__main__":
    main(sys.argv[1])
