"""Which host calls: known at once where it was verified lately, else asked about together with all that were not.

After a gap in the channel of wake-ups no verification counts any more, and every host of the fleet calls within a third
of a lease: one by one, verifying them would cost more than renewing their leases.
"""

from uuid import UUID

from control.operations.keys import verify_hosts
from control.operations.plane import Plane
from control.renewals.coalescer import Coalescer
from control.signals.tokens import VerifiedTokens

#: Tokens that one statement asks about: its answer must not be long in coming for the first of them.
MAX_BATCH = 500


class Callers:
    """The hosts that call this process. For one event loop."""

    def __init__(self, plane: Plane, hosts: VerifiedTokens[UUID]) -> None:
        self._plane = plane
        self._hosts = hosts
        self._asked: Coalescer[str, UUID | None] = Coalescer(
            self._verify, name="callers", max_batch=MAX_BATCH, max_waiting=40 * MAX_BATCH
        )

    def known(self, token: str) -> UUID | None:
        """Whose credential this is, if that can be said at once."""
        return self._hosts.known(token)

    async def verify(self, token: str) -> UUID | None:
        """Whose credential this is; None where it is nobody's."""
        return await self._asked.ask(token)

    async def close(self) -> None:
        await self._asked.close()

    def _verify(self, tokens: list[str]) -> list[UUID | None]:
        return verify_hosts(self._plane, self._hosts, tokens)
