"""The bodies of renewals for msgspec: `corral.contract.host_protocol` in the form that decodes in a microsecond.

Each is as strict as its model there or stricter: what does not fit here is read once more by FastAPI, which takes it or
says what is wrong with it.
"""

from typing import Annotated, Literal

import msgspec

from corral.contract.host_protocol import MAX_LEASES_IN_A_RENEWAL, MAX_RENEWAL_HOLD_MS

LEASE_ID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

_LENGTH, _DIGITS, _DASHES = 36, 32, (8, 13, 18, 23)
#: More than 64 bits would be read as a number all the same, and refused behind.
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Progress(msgspec.Struct):
    step: _Count = 0
    steps_total: _Count | None = None
    text: Annotated[str, msgspec.Meta(max_length=500)] = ""
    checkpoint: Literal["running", "done", "failed", "cancelled"] = "running"


class LeaseRenewal(msgspec.Struct):
    progress: Progress | None = None
    cancel_seen: bool = False


class HeldLease(msgspec.Struct):
    #: Its form is looked at by `read_host_renewal`.
    lease_id: Annotated[str, msgspec.Meta(min_length=36, max_length=36)]
    progress: Progress | None = None
    cancel_seen: bool = False


class HostRenewal(msgspec.Struct):
    leases: Annotated[list[HeldLease], msgspec.Meta(min_length=1, max_length=MAX_LEASES_IN_A_RENEWAL)]
    wait_ms: Annotated[int, msgspec.Meta(ge=0, le=MAX_RENEWAL_HOLD_MS)] = 0


class Renewed(msgspec.Struct):
    """The answer about one lease, `LeaseRenewalResponse` of the contract."""

    lease_id: str
    lease_expires_at: str
    lease_remaining_ms: int
    renew_after_ms: int
    cancel_requested: bool
    held_ms: int = 0
    status: str = "renewed"


class RenewedLease(msgspec.Struct):
    status: str
    lease_id: str
    lease_expires_at: str | None = None
    lease_remaining_ms: int = 0
    cancel_requested: bool = False


class HostRenewed(msgspec.Struct):
    """The answer about all leases of a host, `HostRenewalResponse` of the contract."""

    leases: list[RenewedLease]
    held_ms: int
    renew_after_ms: int
    other_leases: list[str] = []


_decode_host_renewal = msgspec.json.Decoder(HostRenewal).decode

read_lease_renewal = msgspec.json.Decoder(LeaseRenewal).decode
write_answer = msgspec.json.Encoder().encode


def read_host_renewal(body: bytes) -> HostRenewal:
    """Raises `msgspec.MsgspecError` where it is not what it should be."""
    said = _decode_host_renewal(body)
    if not _are_lease_ids([held.lease_id for held in said.leases]):
        raise msgspec.ValidationError("a lease id is a UUID in lower case")
    return said


def _are_lease_ids(texts: list[str]) -> bool:
    """For all of them at once, each of 36 characters: a pattern for each would be a third of the cost of a renewal."""
    together = "".join(texts)
    dashes = "-" * len(texts)
    digits = together.replace("-", "")
    return (
        all(together[place::_LENGTH] == dashes for place in _DASHES)
        and len(digits) == _DIGITS * len(texts)
        and digits.isascii()
        and not digits.encode().translate(None, delete=b"0123456789abcdef")
    )
