"""Procrastinate: `python -m tests.bench.peers.procrastinate_peer postgresql://…` is its worker."""

import sys

import procrastinate
import psycopg
from procrastinate import PsycopgConnector, SyncPsycopgConnector


def make_app(connector: procrastinate.BaseConnector) -> procrastinate.App:
    app = procrastinate.App(connector=connector)

    @app.task(name="no_op")
    def no_op() -> None: ...

    return app


def prepare(url: str) -> None:
    with make_app(SyncPsycopgConnector(conninfo=url)).open() as app:
        app.schema_manager.apply_schema()


def enqueue(url: str, count: int) -> None:
    with make_app(SyncPsycopgConnector(conninfo=url)).open() as app:
        for _ in range(count):
            app.tasks["no_op"].defer()


def unfinished(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')").fetchone()
    return row[0] if row else 0


def main(url: str) -> None:
    make_app(PsycopgConnector(conninfo=url)).run_worker()


if __name__ == "__main__":
    main(sys.argv[1])
