from tests.control.redis_conditions import absent_redis_url, redis_url, silent_redis_url

__all__ = ["absent_redis_url", "redis_url", "silent_redis_url"]
