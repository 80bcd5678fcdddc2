"""PgQueuer: `python -m tests.bench.peers.pgqueuer_peer postgresql://…` is its worker."""

import asyncio
import sys

import asyncpg
import psycopg
from pgqueuer import AsyncpgDriver, Job, PgQueuer, Queries


def prepare(url: str) -> None:
    async def install() -> None:
        connection = await asyncpg.connect(url)
        await Queries(AsyncpgDriver(connection)).install()
        await connection.close()

    asyncio.run(install())


def enqueue(url: str, count: int) -> None:
    async def one_by_one() -> None:
        connection = await asyncpg.connect(url)
        queries = Queries(AsyncpgDriver(connection))
        for _ in range(count):
            await queries.enqueue("no_op", None)
        await connection.close()

    asyncio.run(one_by_one())


def unfinished(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT count(*) FROM pgqueuer").fetchone()
    return row[0] if row else 0


async def main(url: str) -> None:
    pgq = PgQueuer(AsyncpgDriver(await asyncpg.connect(url)))

    @pgq.entrypoint("no_op")
    async def no_op(_job: Job) -> None: ...

    await pgq.run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
