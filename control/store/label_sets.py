"""The fleet as sets of devices that are alike: what a set can do is asked once, however many devices it has."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import RowMapping

from control.store.database import Transaction

#: What the labels of a device are made of, by the names that `control.domain.requirements.device_labels` reads.
SOURCES_OF_LABELS = """
    host.name AS host_name, host.labels AS host_labels, host.supported_commands AS host_commands, device.serial,
    device.labels, device.model, device.manufacturer, device.android_version
"""
_IS_USABLE = "device.state = 'ready' AND host.is_online AND NOT host.is_drain_requested AND NOT host.is_draining"
_DEVICE_IS_BUSY = """
    EXISTS (SELECT 1 FROM scheduled_tasks AS task
            WHERE task.device_id = device.device_id AND task.status IN ('assigned', 'dispatched'))
"""


def label_sets(tx: Transaction, *, by_host: bool, by_serial: bool) -> Sequence[RowMapping]:
    """Known devices in sets of equal labels, each with an example's labels and how many are usable, and busy.

    Labels that are each host's or each device's own count as different only where that is asked for.
    """
    return tx.rows(
        f"""
        WITH label_set AS (
            SELECT (array_agg(device.device_id))[1] AS device_id, count(*) AS known,
                   count(*) FILTER (WHERE {_IS_USABLE}) AS usable,
                   count(*) FILTER (WHERE {_IS_USABLE} AND task.device_id IS NOT NULL) AS busy
            FROM devices AS device JOIN hosts AS host USING (host_id)
            LEFT JOIN scheduled_tasks AS task
                ON task.device_id = device.device_id AND task.status IN ('assigned', 'dispatched')
            WHERE device.state <> 'absent'
            GROUP BY host.label_key, device.label_key
                     {", host.name" if by_host else ""} {", device.serial" if by_serial else ""}
        )
        SELECT label_set.known, label_set.usable, label_set.busy, {SOURCES_OF_LABELS}
        FROM label_set JOIN devices AS device USING (device_id) JOIN hosts AS host USING (host_id)
        """
    )


class LabelSetKey(NamedTuple):
    """Equal for devices with equal labels; `host` and `serial` count where they are given."""

    of_host: int
    of_device: int
    host_name: str | None
    serial: str | None


def free_devices(tx: Transaction, *, by_host: bool, by_serial: bool, limit: int) -> dict[LabelSetKey, list[str]]:
    """Devices that can take a task now, so many of each label set: ready, free, on a host that takes tasks.

    Their ids are texts: most of them are only counted.
    """
    rows = tx.rows(
        f"""
        SELECT host.label_key AS of_host, device.label_key AS of_device,
               {"host.name" if by_host else "CAST(NULL AS text)"} AS host_name,
               {"device.serial" if by_serial else "CAST(NULL AS text)"} AS serial,
               array_to_string((array_agg(device.device_id))[1:{int(limit)}], ' ') AS device_ids
        FROM free_devices JOIN devices AS device USING (device_id) JOIN hosts AS host USING (host_id)
        WHERE {_IS_USABLE} AND NOT {_DEVICE_IS_BUSY}
        GROUP BY 1, 2, 3, 4
        """
    )
    return {
        LabelSetKey(row["of_host"], row["of_device"], row["host_name"], row["serial"]): row["device_ids"].split()
        for row in rows
    }


def example_devices(tx: Transaction, device_ids: Sequence[str]) -> Sequence[RowMapping]:
    """These devices, with all that their labels are made of."""
    if not device_ids:
        return []
    return tx.rows(
        f"""
        SELECT device.device_id, {SOURCES_OF_LABELS}
        FROM devices AS device JOIN hosts AS host USING (host_id)
        WHERE device.device_id = ANY(CAST(:device_ids AS uuid[]))
        """,
        device_ids=list(device_ids),
    )
