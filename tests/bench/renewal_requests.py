"""Renewals as bytes, as a host sends them."""

import json
from collections.abc import Sequence
from uuid import UUID

from tests.bench.seeding import SeededHost
from tests.bench.wire import post


def single_requests(hosts: Sequence[SeededHost], *, step: int) -> list[bytes]:
    """A renewal of each lease, device by device: neighbours come from different hosts."""
    body = json.dumps({"progress": _progress(step)}, separators=(",", ":"))
    return [
        post(f"/internal/v1/leases/{host.lease_ids[number]}/renew", body, token=host.credential)
        for number in range(len(hosts[0].lease_ids))
        for host in hosts
    ]


def host_requests(hosts: Sequence[SeededHost], *, step: int, wait_ms: int = 0) -> list[bytes]:
    """A renewal of all leases of each host."""
    return [host_request(host, step=step, wait_ms=wait_ms) for host in hosts]


def host_request(host: SeededHost, *, step: int = 0, wait_ms: int = 0, seen: UUID | None = None) -> bytes:
    """A renewal of all leases of a host, one of them perhaps with a cancel that has been seen."""
    leases = [
        {"lease_id": str(lease_id), "progress": _progress(step), **({"cancel_seen": True} if lease_id == seen else {})}
        for lease_id in host.lease_ids
    ]
    body = {"leases": leases, "wait_ms": wait_ms}
    return post(f"/internal/v1/hosts/{host.host_id}/renew", body, token=host.credential)


def _progress(step: int) -> dict[str, object]:
    return {"step": step, "steps_total": 40, "text": "tapOn: Save"}
