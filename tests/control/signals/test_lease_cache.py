"""What Redis remembers of leases, in every order in which it may hear of them."""

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import redis

from control.signals.lease_cache import CACHE_LIMIT_SECONDS, TOMBSTONE_MS, LeaseCache
from control.signals.words import CHANNEL, LeaseOf
from corral.stack.valkey import EmbeddedValkey

LEASE_SECONDS = 30.0
#: Where the limit is not what is tested: a busy machine makes a good server wait for longer than the real one.
PATIENT_SECONDS = 10.0
EARLIER, LATER = "2030-01-01T00:00:10+00:00", "2030-01-01T00:00:20+00:00"


@pytest.fixture
def cache_at() -> Iterator[Callable[[str], LeaseCache]]:
    opened: list[LeaseCache] = []

    def cache_at(url: str) -> LeaseCache:
        opened.append(LeaseCache(url, lease_seconds=LEASE_SECONDS))
        return opened[-1]

    yield cache_at
    for cache in opened:
        cache.close()


@pytest.fixture
def cache(redis_url: str) -> Iterator[LeaseCache]:
    cache = LeaseCache(redis_url, lease_seconds=LEASE_SECONDS, limit_seconds=PATIENT_SECONDS)
    yield cache
    cache.close()


@pytest.fixture
def server(redis_url: str) -> Iterator["redis.Redis"]:
    with redis.Redis.from_url(redis_url) as client:
        yield client


def lease() -> LeaseOf:
    return LeaseOf(uuid4(), uuid4())


def named(lease: LeaseOf) -> tuple[str, str]:
    return str(lease.host_id), str(lease.lease_id)


def fill(
    cache: LeaseCache, lease: LeaseOf, *, remaining_ms: int = 20_000, expires_at: str = LATER, **more: bool
) -> None:
    cache.fill({named(lease): more.get("is_cancelled", False)}, remaining_ms=remaining_ms, expires_at=expires_at)


EVENTS: dict[str, Callable[[LeaseCache, LeaseOf], object]] = {
    "fill": lambda cache, lease: fill(cache, lease, remaining_ms=10_000, expires_at=EARLIER),
    "fill later": lambda cache, lease: fill(cache, lease, remaining_ms=20_000, expires_at=LATER),
    "fill cancelled": lambda cache, lease: fill(
        cache, lease, remaining_ms=15_000, expires_at=EARLIER, is_cancelled=True
    ),
    "mark": lambda cache, lease: cache.mark([lease]),
    "end": lambda cache, lease: cache.end([lease], holder_knows=False),
}


@pytest.mark.parametrize("number_of_events", range(1, len(EVENTS) + 1))
def test_whatever_the_order_the_record_says_what_the_rules_say(cache: LeaseCache, number_of_events: int) -> None:
    for order in itertools.permutations(EVENTS, number_of_events):
        one = lease()
        for event in order:
            EVENTS[event](cache, one)
        (found,) = cache.look([named(one)])
        if "end" in order or not any(event.startswith("fill") for event in order):
            assert found is None, order
            continue
        assert found is not None, order
        assert found.is_cancelled == bool({"mark", "fill cancelled"} & {*order}), order
        longest = 20_000 if "fill later" in order else 15_000 if "fill cancelled" in order else 10_000
        assert longest - 2_000 < found.remaining_ms <= longest, order
        assert found.expires_at == (LATER if "fill later" in order else EARLIER), order


def test_a_mark_alone_vouches_for_nothing_and_lends_no_time_to_the_fill_that_joins_it(cache: LeaseCache) -> None:
    one = lease()
    assert cache.mark([one])
    assert cache.look([named(one)]) == [None]
    fill(cache, one, remaining_ms=5_000)
    (found,) = cache.look([named(one)])
    assert found is not None
    assert found.is_cancelled
    assert found.remaining_ms <= 5_000


def test_a_tombstone_outlasts_every_fill_that_could_be_on_its_way(cache: LeaseCache, server: "redis.Redis") -> None:
    one = lease()
    cache.end([one], holder_knows=True)
    fill(cache, one)
    (key,) = server.keys("corral:lease:*")
    assert server.get(key) == b"ended"
    assert TOMBSTONE_MS - 2_000 < server.pttl(key) <= TOMBSTONE_MS


def test_a_fill_without_time_is_none(cache: LeaseCache, server: "redis.Redis") -> None:
    fill(cache, lease(), remaining_ms=0)
    fill(cache, lease(), remaining_ms=-100)
    cache.fill({}, remaining_ms=1_000, expires_at=LATER)
    assert server.keys("corral:lease:*") == []


def test_a_record_ends_with_its_lease(cache: LeaseCache, server: "redis.Redis") -> None:
    one = lease()
    fill(cache, one, remaining_ms=1)
    while server.keys("corral:lease:*"):
        pass
    assert cache.look([named(one)]) == [None]


@pytest.mark.parametrize("odd", [b"", b"live", b"live ", b"lively then", b"\xff\xfe", b"cancel "])
def test_a_record_of_another_kind_is_not_believed(cache: LeaseCache, server: "redis.Redis", odd: bytes) -> None:
    one = lease()
    fill(cache, one)
    (key,) = server.keys("corral:lease:*")
    server.set(key, odd, keepttl=True)
    assert cache.look([named(one)]) == [None]
    assert not cache.is_resting


def test_a_record_that_lasts_longer_than_any_lease_is_not_believed(cache: LeaseCache, server: "redis.Redis") -> None:
    one = lease()
    fill(cache, one)
    (key,) = server.keys("corral:lease:*")
    server.pexpire(key, 31_000)
    assert cache.look([named(one)]) == [None]
    server.persist(key)
    assert cache.look([named(one)]) == [None]


def test_a_host_is_told_nothing_of_the_leases_of_another(cache: LeaseCache) -> None:
    one = lease()
    fill(cache, one)
    assert cache.look([(str(uuid4()), str(one.lease_id)), named(one)])[0] is None
    cache.mark([LeaseOf(uuid4(), one.lease_id)])
    (found,) = cache.look([named(one)])
    assert found is not None
    assert not found.is_cancelled


def test_answers_come_in_the_order_of_the_questions(cache: LeaseCache) -> None:
    leases = [lease() for _ in range(40)]
    cache.fill(
        {named(one): number % 3 == 0 for number, one in enumerate(leases) if number % 2},
        remaining_ms=20_000,
        expires_at=LATER,
    )
    found = cache.look([named(one) for one in leases])
    assert [one is not None for one in found] == [bool(number % 2) for number in range(40)]
    assert [one.is_cancelled for one in found if one] == [number % 3 == 0 for number in range(40) if number % 2]


def test_marks_and_losses_are_told_on_the_channel(cache: LeaseCache, server: "redis.Redis") -> None:
    one = lease()
    with server.pubsub(ignore_subscribe_messages=True) as heard:
        heard.subscribe(CHANNEL)
        assert heard.get_message(timeout=5) is None
        cache.mark([one])
        cache.end([lease()], holder_knows=True)
        cache.end([one], holder_knows=False)
        words = [heard.get_message(timeout=5)["data"].decode() for _ in range(2)]
    # A host that has ended its own lease need not be woken for it.
    assert words == [f"lease:{one.host_id}:{one.lease_id}"] * 2


def test_a_silent_server_is_waited_for_once_and_for_no_longer_than_the_limit(
    silent_redis_url: str, cache_at: Callable[[str], LeaseCache]
) -> None:
    cache, one = cache_at(silent_redis_url), lease()
    started_at = time.monotonic()
    assert cache.look([named(one)]) == [None]
    first_seconds = time.monotonic() - started_at
    assert CACHE_LIMIT_SECONDS * 0.9 < first_seconds < CACHE_LIMIT_SECONDS * 5
    assert cache.is_resting
    started_at = time.monotonic()
    for _ in range(100):
        fill(cache, one)
        assert cache.look([named(one)]) == [None]
        assert cache.mark([one]) is False
        cache.end([one], holder_knows=False)
    assert time.monotonic() - started_at < CACHE_LIMIT_SECONDS * 10


def test_an_absent_server_raises_nothing(absent_redis_url: str, cache_at: Callable[[str], LeaseCache]) -> None:
    cache, one = cache_at(absent_redis_url), lease()
    fill(cache, one)
    assert cache.look([named(one), named(lease())]) == [None, None]
    assert cache.mark([one]) is False


def test_a_server_that_was_flushed_knows_nothing_and_takes_everything(cache: LeaseCache, server: "redis.Redis") -> None:
    one = lease()
    fill(cache, one)
    server.flushdb()
    server.script_flush()
    assert cache.look([named(one)]) == [None]
    fill(cache, one)
    assert cache.look([named(one)]) != [None]


def test_a_server_that_was_restarted_is_found_again(tmp_path: Path, cache_at: Callable[[str], LeaseCache]) -> None:
    server = EmbeddedValkey(tmp_path)
    server.start()
    cache, one = cache_at(server.url), lease()
    fill(cache, one)
    try:
        server.stop()
        server.start()
        # The connection that was kept is dead, which is found out by its use.
        assert cache.look([named(one)]) != [None]
        assert not cache.is_resting
        server.stop()
        assert cache.look([named(one)]) == [None]
        assert cache.is_resting
    finally:
        server.stop()


def test_a_fill_that_a_frozen_server_works_off_late_grants_what_is_left_and_no_more(cache, server):
    one, other = lease(), lease()
    seconds, microseconds = server.time()
    # As if it had been sent twelve seconds ago.
    cache._clock.learn(seconds * 1000 + microseconds // 1000 - 12_000)
    cache.fill({named(one): False}, remaining_ms=30_000, expires_at=LATER)
    cache._clock.learn(seconds * 1000 + microseconds // 1000 - 12_000)
    cache.fill({named(other): False}, remaining_ms=10_000, expires_at=LATER)
    found, gone = cache.look([named(one), named(other)])
    assert 17_000 < found.remaining_ms <= 18_000
    assert gone is None
