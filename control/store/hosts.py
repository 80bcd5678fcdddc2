"""Hosts and their devices, as they last said of themselves."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from sqlalchemy import RowMapping

from control.store.database import Transaction
from control.store.json_text import as_json
from corral.contract.host_protocol import Heartbeat, HostRegistration, ReportedDevice
from corral.contract.identifiers import uuid7


def insert_host(tx: Transaction, host_id: UUID, registration: HostRegistration, *, credential_hash: bytes) -> None:
    """A host is known from now on; it is online from its first heartbeat on."""
    tx.run(
        """
        INSERT INTO hosts (host_id, name, credential_hash, labels, facts, version, supported_commands,
                           retired_incarnations, is_online, is_drain_requested, is_draining, registered_at)
        VALUES (:host_id, :name, :credential_hash, CAST(:labels AS jsonb), CAST(:facts AS jsonb), :version, '[]',
                '[]', false, false, false, corral_now())
        """,
        host_id=host_id,
        name=registration.name,
        credential_hash=credential_hash,
        labels=as_json(registration.labels),
        facts=as_json(registration.facts),
        version=registration.version,
    )


def credential_hashes_of(tx: Transaction, host_ids: Sequence[UUID]) -> dict[UUID, bytes]:
    """By host; those that are unknown or revoked have none."""
    rows = tx.rows(
        "SELECT host_id, credential_hash FROM hosts WHERE host_id = ANY(:host_ids) AND revoked_at IS NULL",
        host_ids=list(host_ids),
    )
    return {row["host_id"]: bytes(row["credential_hash"]) for row in rows}


def lock_host(tx: Transaction, host_id: UUID) -> RowMapping | None:
    """The host's row, held until the end of the transaction: claims and heartbeats of one host go one by one."""
    return tx.row(
        """
        SELECT incarnation, retired_incarnations, is_online, is_drain_requested, is_draining, revoked_at FROM hosts
        WHERE host_id = :host_id FOR NO KEY UPDATE
        """,
        host_id=host_id,
    )


def note_heartbeat(tx: Transaction, host_id: UUID, beat: Heartbeat) -> None:
    """The host is alive, in this incarnation; a former one is retired for good."""
    tx.run(
        """
        UPDATE hosts
        SET last_seen_at = corral_now(), is_online = true, is_draining = :is_draining,
            labels = CAST(:labels AS jsonb), version = coalesce(:version, version),
            supported_commands = CAST(:supported_commands AS jsonb), incarnation = :incarnation,
            retired_incarnations = CASE
                WHEN incarnation IS NULL OR incarnation = :incarnation THEN retired_incarnations
                ELSE jsonb_path_query_array(
                    jsonb_build_array(incarnation) || retired_incarnations, '$[0 to 31]') END
        WHERE host_id = :host_id
        """,
        host_id=host_id,
        incarnation=beat.incarnation,
        is_draining=beat.draining,
        labels=as_json(beat.labels),
        version=beat.version,
        supported_commands=as_json(beat.supported_commands),
    )


def note_devices(tx: Transaction, host_id: UUID, devices: Iterable[ReportedDevice]) -> None:
    """What the host says of its devices, each known by its serial; those that it names no more are absent."""
    reported = {device.serial: device.model_dump(mode="json") | {"device_id": str(uuid7())} for device in devices}
    tx.run(
        """
        INSERT INTO devices (device_id, host_id, serial, state, remedy, model, manufacturer, android_version,
                             battery_level, labels, facts, last_seen_at)
        SELECT device_id, :host_id, serial, state, remedy, model, manufacturer, android_version, battery_level,
               labels, facts, corral_now()
        FROM jsonb_to_recordset(CAST(:reported AS jsonb)) AS device (
            device_id uuid, serial text, state text, remedy text, model text, manufacturer text, android_version text,
            battery_level integer, labels jsonb, facts jsonb)
        ON CONFLICT (host_id, serial) DO UPDATE
        SET state = excluded.state, remedy = excluded.remedy, model = coalesce(excluded.model, devices.model),
            manufacturer = coalesce(excluded.manufacturer, devices.manufacturer),
            android_version = coalesce(excluded.android_version, devices.android_version),
            battery_level = coalesce(excluded.battery_level, devices.battery_level),
            labels = excluded.labels, facts = excluded.facts, last_seen_at = excluded.last_seen_at
        """,
        host_id=host_id,
        reported=as_json(list(reported.values())),
    )
    tx.run(
        """
        UPDATE devices SET state = 'absent', remedy = 'plug the phone in again'
        WHERE host_id = :host_id AND state <> 'absent' AND serial <> ALL(CAST(:present AS text[]))
        """,
        host_id=host_id,
        present=list(reported),
    )


def ready_serials(tx: Transaction, host_id: UUID) -> frozenset[str]:
    rows = tx.rows("SELECT serial FROM devices WHERE host_id = :host_id AND state = 'ready'", host_id=host_id)
    return frozenset(row["serial"] for row in rows)


def take_silent_hosts_offline(tx: Transaction, *, silent_for_seconds: float) -> list[UUID]:
    """Hosts that have not been heard of for that long."""
    rows = tx.rows(
        """
        UPDATE hosts SET is_online = false WHERE host_id = ANY(ARRAY(
            SELECT host_id FROM hosts
            WHERE is_online AND last_seen_at < corral_now() - make_interval(secs => :seconds)
            ORDER BY host_id FOR NO KEY UPDATE SKIP LOCKED
        )) RETURNING host_id
        """,
        seconds=silent_for_seconds,
    )
    return [row["host_id"] for row in rows]


def set_drain(tx: Transaction, host_id: UUID, *, draining: bool) -> bool:
    """An operator's wish; False where there is no such host."""
    return bool(
        tx.run(
            "UPDATE hosts SET is_drain_requested = :draining WHERE host_id = :host_id",
            draining=draining,
            host_id=host_id,
        )
    )


def revoke(tx: Transaction, host_id: UUID) -> bool:
    """Void the credential of a host, which gets no tasks from now on; False where there is no such host."""
    return bool(
        tx.run(
            """
            UPDATE hosts SET revoked_at = coalesce(revoked_at, corral_now()), is_online = false
            WHERE host_id = :host_id
            """,
            host_id=host_id,
        )
    )


def lately_revoked_hosts(tx: Transaction, *, within_seconds: float) -> list[UUID]:
    """The hosts that were revoked in this time."""
    rows = tx.rows(
        "SELECT host_id FROM hosts WHERE revoked_at > corral_now() - make_interval(secs => :seconds)",
        seconds=within_seconds,
    )
    return [row["host_id"] for row in rows]


def hosts(tx: Transaction, *, host_id: UUID | None = None) -> Sequence[RowMapping]:
    """All hosts, or one, with how many devices they have and how many leases they hold."""
    return tx.rows(
        f"""
        SELECT host.host_id, host.name, host.is_online, host.is_drain_requested OR host.is_draining AS is_draining,
               host.revoked_at IS NOT NULL AS is_revoked, host.last_seen_at, host.registered_at, host.labels,
               host.version,
               (SELECT count(*) FROM devices WHERE devices.host_id = host.host_id AND state <> 'absent') AS devices,
               (SELECT count(*) FROM leases WHERE leases.host_id = host.host_id) AS running
        FROM hosts AS host {"WHERE host.host_id = :host_id" if host_id else ""} ORDER BY host.name, host.host_id
        """,
        **({"host_id": host_id} if host_id else {}),
    )


def devices(tx: Transaction, *, host_id: UUID | None = None) -> Sequence[RowMapping]:
    """All devices, or those of one host, with the task that holds each."""
    return tx.rows(
        f"""
        SELECT device.device_id, device.host_id, host.name AS host_name, host.labels AS host_labels,
               host.supported_commands AS host_commands, device.serial, device.state, device.remedy,
               host.is_online AND device.state = 'ready' AS is_online, task.task_id, device.model,
               device.manufacturer, device.android_version, device.battery_level, device.labels, device.facts,
               device.last_seen_at, host.is_drain_requested OR host.is_draining AS is_draining
        FROM devices AS device JOIN hosts AS host USING (host_id)
        LEFT JOIN scheduled_tasks AS task
            ON task.device_id = device.device_id AND task.status IN ('assigned', 'dispatched')
        {"WHERE device.host_id = :host_id" if host_id else ""} ORDER BY host.name, device.serial
        """,
        **({"host_id": host_id} if host_id else {}),
    )
