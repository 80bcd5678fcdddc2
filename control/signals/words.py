"""What is said on the one channel between the processes of the control plane: words, separated by spaces.

work:<host>              there may be something for this host to claim
lease:<host>:<lease>     this lease was cancelled or has ended: whatever is remembered of it is out of date
token:<id>               what was verified for this id is void
"""

from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

#: Processes of another version may listen too: a word of a kind that they do not know is skipped.
CHANNEL = "corral:wakeups"


class LeaseOf(NamedTuple):
    """A lease and the host that holds it."""

    host_id: UUID
    lease_id: UUID


class Word(NamedTuple):
    """One word that was heard: its kind, and what follows."""

    kind: str
    rest: str


def work_words(host_ids: Iterable[UUID]) -> str:
    return " ".join(sorted({f"work:{host_id}" for host_id in host_ids}))


def lease_words(leases: Iterable[LeaseOf]) -> str:
    return " ".join(sorted({f"lease:{lease.host_id}:{lease.lease_id}" for lease in leases}))


def token_words(token_ids: Iterable[str]) -> str:
    return " ".join(sorted({f"token:{token_id}" for token_id in token_ids}))


def read_words(message: bytes) -> list[Word]:
    """The words of a message; what is no word of ours has a kind that nobody knows."""
    return [
        Word(kind, rest) for kind, _, rest in (word.partition(":") for word in message.decode(errors="replace").split())
    ]


def read_lease(rest: str) -> LeaseOf:
    """Raises ValueError where it names no lease."""
    host_id, _, lease_id = rest.partition(":")
    return LeaseOf(UUID(host_id), UUID(lease_id))
