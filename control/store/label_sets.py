"""The fleet as sets of devices that are alike: what a set can do is asked once, however many devices it has."""

from collections.abc import Sequence

from sqlalchemy import RowMapping

from control.store.database import Transaction


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
        SELECT label_set.known, label_set.usable, label_set.busy, host.name AS host_name, host.labels AS host_labels,
               host.supported_commands AS host_commands, device.serial, device.model, device.manufacturer,
               device.android_version, device.labels
        FROM label_set JOIN devices AS device USING (device_id) JOIN hosts AS host USING (host_id)
        """
    )


_IS_USABLE = "device.state = 'ready' AND host.is_online AND NOT host.is_drain_requested AND NOT host.is_draining"
