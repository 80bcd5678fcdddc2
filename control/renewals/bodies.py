"""The bodies of renewals for msgspec: `corral.contract.host_protocol` in the form that decodes in a microsecond.

Each is as strict as its model there or stricter: what does not fit here is read once more by FastAPI, which takes it or
says what is wrong with it.
"""

import re
from typing import Annotated, Literal

import msgspec

from corral.contract.host_protocol import MAX_LEASES_IN_A_RENEWAL, MAX_RENEWAL_HOLD_MS

LEASE_ID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

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
    #: Looked at by `read_host_renewal`: a pattern for each would be a fifth of the cost of a renewal.
    lease_id: str
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


_LEASE_ID_LENGTH = len("00000000-0000-0000-0000-000000000000,")
_LEASE_IDS = re.compile(f"({LEASE_ID},)+")
_decode_host_renewal = msgspec.json.Decoder(HostRenewal).decode

read_lease_renewal = msgspec.json.Decoder(LeaseRenewal).decode
write_answer = msgspec.json.Encoder().encode


def read_host_renewal(body: bytes) -> HostRenewal:
    """Raises `msgspec.MsgspecError` where it is not what it should be."""
    said = _decode_host_renewal(body)
    lease_ids = "".join([f"{held.lease_id}," for held in said.leases])
    # By its length too: one text of two ids would shift the ids of everybody else in the same statement.
    if len(lease_ids) != len(said.leases) * _LEASE_ID_LENGTH or not _LEASE_IDS.fullmatch(lease_ids):
        raise msgspec.ValidationError("a lease id is a UUID in lower case")
    return said
