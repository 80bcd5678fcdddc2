"""Wake-ups as an API process hears them, over a real Valkey."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import uuid4

from control.signals.listener import DEAF_RECHECK_SECONDS, RECHECK_SECONDS, WakeupListener
from control.signals.wakeups import RedisWakeups
from control.signals.words import CHANNEL
from corral.stack.ports import free_port
from corral.stack.valkey import EmbeddedValkey

DEADLINE_SECONDS = 15.0


def listening(url: str, story: Callable[[WakeupListener], Awaitable[None]]) -> None:
    """Let the story happen while a listener runs."""

    async def play() -> None:
        listener = WakeupListener(url)
        running = asyncio.create_task(listener.run())
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                await story(listener)
        finally:
            running.cancel()
            await asyncio.wait([running])

    asyncio.run(play())


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - what is waited for happens in Valkey
        await asyncio.sleep(0.01)


def test_a_wakeup_reaches_the_waiters_of_its_host_alone(valkey: EmbeddedValkey):
    async def story(listener: WakeupListener) -> None:
        await until(lambda: listener.is_connected)
        mine, other = uuid4(), uuid4()
        with (
            listener.waiting_for(mine) as first,
            listener.waiting_for(mine) as second,
            listener.waiting_for(other) as third,
        ):
            await asyncio.to_thread(RedisWakeups(valkey.url, lease_seconds=30).wake_hosts, [mine])
            await asyncio.gather(first.wait(10), second.wait(10))
            assert not third._woken.is_set()

    listening(valkey.url, story)


def test_several_hosts_in_one_message_all_wake_and_nonsense_wakes_nobody(valkey: EmbeddedValkey):
    async def story(listener: WakeupListener) -> None:
        await until(lambda: listener.is_connected)
        one, two = uuid4(), uuid4()
        wakeups = RedisWakeups(valkey.url, lease_seconds=30)
        with listener.waiting_for(one) as first, listener.waiting_for(two) as second:
            await asyncio.to_thread(wakeups._redis.publish, CHANNEL, b"not-an-id \xff\xfe")
            await asyncio.to_thread(wakeups.wake_hosts, [one, two])
            await asyncio.gather(first.wait(10), second.wait(10))
            assert first._woken.is_set()
            assert second._woken.is_set()

    listening(valkey.url, story)


def test_a_wakeup_between_look_and_wait_is_not_missed():
    async def story(listener: WakeupListener) -> None:
        with listener.waiting_for(uuid4()) as waiter:
            waiter.clear()
            waiter.wake()
            started = time.monotonic()
            await waiter.wait(10)
            assert time.monotonic() - started < 5

    listening(f"redis://127.0.0.1:{free_port()}", story)


def test_waiters_look_again_more_often_while_nothing_can_be_heard():
    async def story(listener: WakeupListener) -> None:
        assert listener.recheck_seconds == DEAF_RECHECK_SECONDS
        listener.is_connected = True
        assert listener.recheck_seconds == RECHECK_SECONDS

    listening(f"redis://127.0.0.1:{free_port()}", story)


def test_a_listener_that_lost_its_server_wakes_everybody_and_comes_back(tmp_path: Path):
    server = EmbeddedValkey(tmp_path)
    server.start()

    async def story(listener: WakeupListener) -> None:
        await until(lambda: listener.is_connected)
        host_id = uuid4()
        with listener.waiting_for(host_id) as waiter:
            await asyncio.to_thread(server.stop)
            await waiter.wait(10)
            assert not listener.is_connected
            waiter.clear()
            await asyncio.to_thread(server.start)
            await waiter.wait(10)
            assert listener.is_connected
            waiter.clear()
            await asyncio.to_thread(RedisWakeups(server.url, lease_seconds=30).wake_hosts, [host_id])
            await waiter.wait(10)
            assert waiter._woken.is_set()

    try:
        listening(server.url, story)
    finally:
        server.stop()


def test_the_end_of_the_process_wakes_everybody():
    async def story(listener: WakeupListener) -> None:
        with listener.waiting_for(uuid4()) as waiter:
            listener.end_holds()
            await waiter.wait(10)
            assert waiter._woken.is_set()
            assert listener.is_ending

    listening(f"redis://127.0.0.1:{free_port()}", story)
