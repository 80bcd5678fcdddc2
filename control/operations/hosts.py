"""Know the hosts and their devices."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import RowMapping

from control.domain.errors import HostNotFound, StaleIncarnation, Unauthenticated
from control.operations.assign import ring_for_capacity
from control.operations.cadence import API, api_gap_seconds
from control.operations.keys import host_credential, id_of_host
from control.operations.plane import Plane
from control.operations.reap import lose_leases
from control.store import hosts, job_runs, leases, transitions
from control.store.database import Transaction, retried_on_deadlock
from corral.contract.fleet import DeviceList, DeviceView, HostList, HostView
from corral.contract.host_protocol import Heartbeat, HeartbeatReply, HostRegistered, HostRegistration
from corral.contract.identifiers import uuid7
from corral.traces.spans import work


def register_host(plane: Plane, registration: HostRegistration) -> HostRegistered:
    """Let a host in that knows the join token; it gets a credential of its own, which is stored as a hash."""
    host_id = uuid7()
    credential, credential_hash = host_credential(host_id)
    with plane.database.transaction() as tx:
        hosts.insert_host(tx, host_id, registration, credential_hash=credential_hash)
    return HostRegistered(host_id=host_id, credential=credential)


@retried_on_deadlock
def heartbeat(plane: Plane, host_id: UUID, beat: Heartbeat) -> HeartbeatReply:
    """Note that a host is alive, and its devices. A new incarnation ends the leases of the former one.

    Raises:
        StaleIncarnation: a later process of this host has announced itself.
    """
    with work("reap", host_id=host_id) as traced, plane.database.transaction() as tx:
        host = _lock(tx, host_id)
        if host["revoked_at"] is not None:
            # Verified in the moment before.
            raise Unauthenticated("this host was revoked")
        if str(beat.incarnation) in host["retired_incarnations"]:
            raise StaleIncarnation("a later process of this host has announced itself; this one must end")
        ready_before = hosts.ready_serials(tx, host_id) if host["is_online"] else frozenset[str]()
        hosts.note_heartbeat(tx, host_id, beat)
        hosts.note_devices(tx, host_id, beat.devices)
        lost = _release_former_lives(plane, tx, host_id, beat, host)
        for task in lost:
            traced.serve(task["task_id"], attempt=task["attempt"], outcome=task["status"])
        has_capacity = bool(hosts.ready_serials(tx, host_id) - ready_before) or (
            host["is_draining"] and not beat.draining
        )
        if lost or has_capacity:
            ring_for_capacity(plane, tx)
        return HeartbeatReply(
            draining=host["is_drain_requested"],
            heartbeat_after_ms=round(plane.timing.heartbeat_seconds * 1000),
            lease_seconds=plane.timing.lease_seconds,
        )


@retried_on_deadlock
def mark_silent_hosts_offline(plane: Plane) -> int:
    """Hosts that are not heard of get no more tasks, and their unclaimed ones go back to the queue."""
    timing = plane.timing
    with plane.database.transaction() as tx:
        gap = api_gap_seconds(timing.lease_seconds)
        if not job_runs.is_unbroken(tx, API, for_seconds=timing.host_silence_seconds, gap_seconds=gap):
            return 0  # The API was away: hosts could not be heard.
        silent = hosts.take_silent_hosts_offline(tx, silent_for_seconds=timing.host_silence_seconds)
        if silent and transitions.release_assignments_of(tx, silent):
            ring_for_capacity(plane, tx)
    return len(silent)


def list_hosts(plane: Plane) -> HostList:
    with plane.database.statement() as tx:
        return HostList(hosts=[HostView.model_validate(dict(row)) for row in hosts.hosts(tx)])


def request_drain(plane: Plane, host_id: UUID, *, draining: bool) -> HostView:
    """Let a host finish its work and take no more, or take tasks again. It hears of it in its next heartbeat.

    Raises:
        HostNotFound: there is no such host.
    """
    with plane.database.transaction() as tx:
        if not hosts.set_drain(tx, host_id, draining=draining):
            raise _host_not_found(host_id)
        if not draining:
            ring_for_capacity(plane, tx)
        (row,) = hosts.hosts(tx, host_id=host_id)
        return HostView.model_validate(dict(row))


@retried_on_deadlock
def revoke_host(plane: Plane, host_id: UUID) -> HostView:
    """Void the credential of a host; what it has not begun goes back to the queue.

    Its runs stop by themselves: their leases can be renewed no more, and end.

    Raises:
        HostNotFound: there is no such host.
    """
    with plane.database.transaction() as tx:
        if not hosts.revoke(tx, host_id):
            raise _host_not_found(host_id)
        if transitions.release_assignments_of(tx, [host_id]):
            ring_for_capacity(plane, tx)
        tx.after_commit(lambda: plane.wakeups.drop_tokens([id_of_host(host_id)]))
        (row,) = hosts.hosts(tx, host_id=host_id)
        return HostView.model_validate(dict(row))


def list_devices(plane: Plane, *, host_id: UUID | None = None) -> DeviceList:
    with plane.database.statement() as tx:
        rows = hosts.devices(tx, host_id=host_id)
        return DeviceList(devices=[DeviceView.model_validate(dict(row)) for row in rows])


def _lock(tx: Transaction, host_id: UUID) -> RowMapping:
    host = hosts.lock_host(tx, host_id)
    if host is None:
        raise _host_not_found(host_id)
    return host


def _release_former_lives(
    plane: Plane, tx: Transaction, host_id: UUID, beat: Heartbeat, host: RowMapping
) -> Sequence[RowMapping]:
    if host["incarnation"] in {None, beat.incarnation}:
        return []
    former = leases.end_leases_of_former_lives(tx, host_id=host_id, incarnation=beat.incarnation)
    # Confirmed: the host itself says that the process which ran these tasks is gone.
    reason = "the host's process was restarted during the run"
    return lose_leases(plane, tx, former, reason=reason, confirmed=True)


def _host_not_found(host_id: UUID) -> HostNotFound:
    return HostNotFound(f"there is no host {host_id}", host_id=str(host_id))
