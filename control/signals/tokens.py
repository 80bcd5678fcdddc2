"""The credentials that this process has verified, so that not every request costs a look into Postgres.

A revocation commits in Postgres and is then told on the channel of wake-ups. Who hears it drops the token at once; who
cannot hear looks again after two seconds. What no word came of is found in Postgres by a keeper, and dropped too. What
was read before a drop is never remembered after it:

    begin() ──► read Postgres ──► remember(ticket, …)     kept
    begin() ──► read Postgres ──► drop(…) ──► remember(ticket, …)     refused: the read may be older than the revocation
"""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

#: What a verification counts for while the channel is connected.
HEARING_SECONDS = 300.0
#: The same while it is not: no revocation could be heard.
DEAF_SECONDS = 2.0
#: Some MB. A process with more callers looks into Postgres for the oldest of them once more.
MAX_TOKENS = 10_000

T = TypeVar("T")


class Ticket(NamedTuple):
    """A verification that has begun: it is good for as long as nothing is dropped."""

    drops: int
    began_at: float


@dataclass(frozen=True, slots=True)
class _Verified(Generic[T]):
    value: T
    token_id: str
    #: When its verification began, which is before Postgres was read.
    began_at: float


class VerifiedTokens(Generic[T]):
    """Tokens and what they stand for. For any thread and the event loop: nothing here waits.

    `clear` it whenever the channel has been joined, before `is_connected` says so: what was revoked in between was not
    heard.
    """

    def __init__(
        self,
        *,
        is_connected: Callable[[], bool],
        max_tokens: int = MAX_TOKENS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._is_connected = is_connected
        self._max_tokens = max_tokens
        self._clock = clock
        #: The oldest first.
        self._verified: dict[bytes, _Verified[T]] = {}
        self._drops = 0
        self._changing = Lock()

    def __len__(self) -> int:
        return len(self._verified)

    def known(self, token: str) -> T | None:
        """What a token stands for; None where Postgres has to be asked."""
        verified = self._verified.get(_digest(token))
        if verified is None:
            return None
        lifetime = HEARING_SECONDS if self._is_connected() else DEAF_SECONDS
        return verified.value if self._clock() - verified.began_at < lifetime else None

    def begin(self) -> Ticket:
        """Take this before Postgres is asked about a token."""
        return Ticket(self._drops, self._clock())

    def remember(self, ticket: Ticket, token: str, value: T, *, token_id: str) -> None:
        """Keep what Postgres said, unless something was dropped since the ticket."""
        digest = _digest(token)
        with self._changing:
            if ticket.drops != self._drops:
                return
            self._verified.pop(digest, None)
            self._verified[digest] = _Verified(value, token_id, ticket.began_at)
            if len(self._verified) > self._max_tokens:
                del self._verified[next(iter(self._verified))]

    def drop(self, token_id: str) -> None:
        """Forget a token that was revoked."""
        with self._changing:
            self._drops += 1
            for digest in [digest for digest, one in self._verified.items() if one.token_id == token_id]:
                del self._verified[digest]

    def clear(self) -> None:
        """Forget all tokens."""
        with self._changing:
            self._drops += 1
            self._verified.clear()


def _digest(token: str) -> bytes:
    # Not the token itself: a dump of this process must not hold every credential that it serves.
    return hashlib.sha256(token.encode()).digest()
