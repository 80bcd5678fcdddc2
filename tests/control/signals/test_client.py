import time

import pytest
import redis

from control.signals.client import UnusableRedisUrl, redis_url, sending_client
from corral.stack.valkey import EmbeddedValkey


@pytest.mark.parametrize(
    ("given", "understood"),
    [
        ("redis://h:1/0", "redis://h:1/0"),
        ("valkey://:secret@h:6379/2", "redis://:secret@h:6379/2"),
        ("rediss://h/0", "rediss://h/0"),
        ("valkeys://user:pass@h:6380", "rediss://user:pass@h:6380"),
        ("redis://[::1]:6379/0", "redis://[::1]:6379/0"),
    ],
)
def test_the_addresses_of_one_server_are_understood(given, understood):
    assert redis_url(given) == understood


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("redis+cluster://h:1", "not supported"),
        ("redis+sentinel://h:1", "not supported"),
        ("sentinel://h:1", "not supported"),
        ("http://h:1", "begins with one of redis://"),
        ("localhost:6379", "begins with one of redis://"),
        ("", "begins with one of redis://"),
        ("redis://", "names one host"),
        ("redis://h:port/0", "names one host"),
        ("redis://h:99999/0", "names one host"),
        ("redis://a:1,b:2/0", "names one host"),
        ("redis://h:1/jobs", "number of a database"),
    ],
)
def test_any_other_address_is_refused_with_what_would_be_right(given, says):
    with pytest.raises(UnusableRedisUrl, match=says):
        redis_url(given)


def test_a_refusal_never_shows_the_password():
    with pytest.raises(UnusableRedisUrl) as refused:
        redis_url("redis+tls://:hunter2@h:1/0")
    assert "hunter2" not in str(refused.value)


def test_a_silent_server_costs_a_sender_its_limit_and_no_more(silent_redis_url):
    started_at = time.monotonic()
    with sending_client(silent_redis_url) as client, pytest.raises(redis.TimeoutError):
        client.ping()
    assert time.monotonic() - started_at < 0.6


def test_a_pooled_connection_outlives_a_restart_of_the_server(tmp_path):
    server = EmbeddedValkey(tmp_path / "valkey")
    server.start()
    try:
        with sending_client(server.url) as client:
            assert client.ping()
            server.stop()
            server.start()
            assert client.ping()
    finally:
        server.stop()
