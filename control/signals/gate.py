"""The gate in front of the doorbell: a hundred rings before a job begins are one job."""

from control.signals.client import sending_client

#: How long a ring that got lost on its way can keep later ones from being sent. As long as the sweep's period: then the
#: sweep finds what the lost ring was about.
SHUT_MS = 2_000


class DoorbellGate:
    """Shut behind a ring, reopened by the job when it begins, *before* it reads.

    So what was committed before a suppressed ring is seen by the job that is already on its way, and a ring that comes
    while the job runs sends one more.
    """

    def __init__(self, url: str, *, shut_ms: int = SHUT_MS) -> None:
        self._redis = sending_client(url)
        self._shut_ms = shut_ms

    def admit(self, job: str) -> bool:
        """True for the one ring that has to be sent; False while one is on its way.

        Raises:
            redis.RedisError: the server is away or silent.
        """
        return bool(self._redis.set(_key(job), b"", nx=True, px=self._shut_ms))

    def reopen(self, job: str) -> None:
        """Let the next ring through.

        Raises:
            redis.RedisError: the server is away or silent; the gate then reopens by itself.
        """
        self._redis.delete(_key(job))

    def close(self) -> None:
        """Give the connections back."""
        self._redis.close()


def _key(job: str) -> str:
    return f"corral:doorbell:{job}"
