"""One look for all claims that wait."""

import asyncio
from uuid import UUID

import pytest

from control.api.shared_look import SharedLook

pytestmark = pytest.mark.anyio

BUSY, IDLE = UUID(int=1), UUID(int=2)


class Looks:
    def __init__(self, *answers: frozenset[UUID] | Exception) -> None:
        self.answers = list(answers)
        self.made = 0
        self.may_end = asyncio.Event()

    async def __call__(self) -> frozenset[UUID]:
        self.made += 1
        await self.may_end.wait()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


async def test_many_ask_at_once_and_one_looks():
    shared, looks = SharedLook(), Looks(frozenset({BUSY}))
    asked = [
        asyncio.ensure_future(shared.has_work(host, looks, max_age_seconds=60))
        for host in (BUSY, IDLE)
        for _ in range(50)
    ]
    asked[0].cancel()
    await asyncio.sleep(0)
    looks.may_end.set()
    answers = await asyncio.gather(*asked[1:])
    assert (answers.count(True), answers.count(False), looks.made) == (49, 50, 1)
    assert await shared.has_work(BUSY, looks, max_age_seconds=60)
    assert looks.made == 1


async def test_a_look_that_is_too_old_is_made_again():
    shared, looks = SharedLook(), Looks(frozenset({BUSY}), frozenset())
    looks.may_end.set()
    assert await shared.has_work(BUSY, looks, max_age_seconds=60)
    assert not await shared.has_work(BUSY, looks, max_age_seconds=-1)


async def test_a_look_that_failed_is_made_again_by_the_next_who_asks():
    shared, looks = SharedLook(), Looks(OSError("no database"), frozenset({BUSY}))
    looks.may_end.set()
    with pytest.raises(OSError, match="no database"):
        await shared.has_work(BUSY, looks, max_age_seconds=60)
    assert await shared.has_work(BUSY, looks, max_age_seconds=60)
