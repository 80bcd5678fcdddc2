"""What we count on in Celery and kombu without their having promised it."""

import ssl

import pytest
import redis
from celery.app.defaults import NAMESPACES, flatten
from celery.beat import Scheduler
from kombu.exceptions import OperationalError
from kombu.utils.functional import retry_over_time

from control.jobs import celery_app as module
from control.jobs.celery_app import celery_app
from control.signals.client import UnusableRedisUrl


def test_celery_knows_every_setting_by_the_name_that_is_used():
    # This one is read by the result store and missing in Celery's own list.
    unlisted = {"redis_backend_health_check_interval"}
    assert set(module._SETTINGS) - unlisted <= {name for name, _ in flatten(NAMESPACES)}


def test_limits_of_the_broker_reach_its_connections(redis_url):
    app = celery_app(redis_url)
    with app.connection_for_write() as connection:
        channel = connection.default_channel
        parameters = channel.connection_pool.connection_kwargs if hasattr(channel, "connection_pool") else None
        parameters = parameters or channel.pool.connection_kwargs
        assert parameters["socket_timeout"] == module.SOCKET_LIMIT_SECONDS
        assert parameters["socket_connect_timeout"] == module.CONNECT_LIMIT_SECONDS
        assert parameters["health_check_interval"] == module.HEALTH_CHECK_SECONDS
        assert parameters["socket_keepalive"] is True
        assert channel.visibility_timeout == module.VISIBILITY_SECONDS
    app.close()


def test_limits_of_the_result_store_reach_its_connections(redis_url):
    parameters = celery_app(redis_url).backend.connparams
    assert parameters["socket_timeout"] == module.RESULT_LIMIT_SECONDS
    assert parameters["socket_connect_timeout"] == module.CONNECT_LIMIT_SECONDS
    assert parameters["health_check_interval"] == module.HEALTH_CHECK_SECONDS
    assert parameters["socket_keepalive"] is True


def test_a_message_goes_to_its_own_queue_alone(redis_url):
    app = celery_app(redis_url)
    app.send_task("corral.sweep.purge", queue="reap", ignore_result=True)
    with redis.Redis.from_url(redis_url) as client:
        assert (client.llen("reap"), client.llen("jobs")) == (1, 0)
    app.close()


def test_a_queue_that_nobody_declared_is_refused(redis_url):
    app = celery_app(redis_url)
    with pytest.raises(Exception, match="raep"):
        app.send_task("corral.sweep.purge", queue="raep", ignore_result=True)
    app.close()


def test_no_retries_means_one_attempt_to_connect(absent_redis_url):
    attempts = []

    def attempt():
        attempts.append(1)
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011 - it has nothing to say
        retry_over_time(attempt, (OSError,), max_retries=0)
    assert len(attempts) == 1
    app = celery_app(absent_redis_url, connect_retries=0)
    with pytest.raises(OperationalError):
        app.send_task("corral.sweep.purge", queue="jobs", ignore_result=True, retry=False)
    app.close()


def test_an_encrypted_broker_must_show_a_certificate():
    app = celery_app("rediss://localhost:1/0")
    assert app.conf.broker_use_ssl["ssl_cert_reqs"] == ssl.CERT_REQUIRED
    assert app.backend.connparams["ssl_cert_reqs"] == ssl.CERT_REQUIRED
    with app.connection_for_write() as connection:
        assert connection.ssl["ssl_cert_reqs"] == ssl.CERT_REQUIRED


def test_valkey_is_redis_to_celery():
    app = celery_app("valkey://localhost:1/3")
    assert app.conf.broker_url == app.conf.result_backend == "redis://localhost:1/3"


def test_a_cluster_is_refused_before_anything_starts():
    with pytest.raises(UnusableRedisUrl, match="one Redis"):
        celery_app("redis+cluster://localhost:1")


def test_beat_keeps_its_schedule_in_memory_and_adds_no_job_of_its_own(absent_redis_url):
    app = celery_app(absent_redis_url)
    scheduler = Scheduler(app)
    assert app.conf.beat_scheduler == "celery.beat:Scheduler"
    assert scheduler.schedule == {}
