"""Leases that the control plane believes this host to have, and that nobody here works on."""

from collections import deque
from uuid import UUID

import structlog

from workers.clock import Clock

#: The answer to a claim may be on its way, and that to a report: what is not known for longer is worth a word.
WORTH_A_WORD_SECONDS = 10.0
#: Leases of the last runs: an answer that still names one of them is only late.
REMEMBERED = 4096

log = structlog.get_logger()


class UnknownLeases:
    """They end by themselves, so that a line in the log, once for each, is all that follows from them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: deque[UUID] = deque(maxlen=REMEMBERED)
        self._named_since: dict[UUID, float] = {}
        self._told: set[UUID] = set()

    def know(self, lease_id: UUID) -> None:
        self._known.append(lease_id)

    def note(self, named: list[UUID]) -> None:
        """The control plane has named these leases beside those that it was asked about."""
        now = self._clock()
        unknown = set(named).difference(self._known)
        self._named_since = {lease_id: self._named_since.get(lease_id, now) for lease_id in unknown}
        self._told &= unknown
        for lease_id in unknown - self._told:
            if now - self._named_since[lease_id] >= WORTH_A_WORD_SECONDS:
                self._told.add(lease_id)
                log.warning("lease.unknown", lease_id=str(lease_id))
