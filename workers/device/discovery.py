"""Which devices this host has, kept current: the list is polled, and each phone is asked for its facts.

listed as connected ──► asked ──► ready ── asked again now and then ──► ready
       │                  └─ no answer ──► unknown, asked again
listed otherwise ──► that state, with what to do about it
no longer listed ──► offline for a moment (hubs flap) ──► absent ──► forgotten
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, replace
from typing import Self

import structlog

from corral.contract.fleet import DeviceState
from workers.clock import boot_seconds
from workers.device.adb_server import AdbServer
from workers.device.call_threads import CallThreads
from workers.device.connection import TROUBLE
from workers.device.device_list import REMEDIES, ListedDevice
from workers.device.facts import DeviceFacts, read_facts
from workers.device.outcome import Failed
from workers.device.shell import Shell

log = structlog.stdlib.get_logger()

#: An unplugged phone stays in the list as absent for this long, for people to see.
_FORGET_SECONDS = 3600.0
#: States that adb goes through on the way to a phone. A phone that nobody knows yet is not shown while it may be on
#: its way: it would be shown under the name of its transport, and again under its own a moment later.
_PASSING = frozenset({DeviceState.OFFLINE, DeviceState.AUTHORIZING, DeviceState.CONNECTING})


@dataclass(slots=True)
class _Known:
    """What is known of one transport serial.

    `facts` are the last that were read, `failed` is why they could not be read the last time, and both count only if
    `is_confirmed`: read over the transport that is listed now.
    """

    listed: ListedDevice
    first_seen_at: float
    seen_at: float
    facts: DeviceFacts | None = None
    failed: Failed | None = None
    is_confirmed: bool = False
    asked_at: float | None = None
    asking: asyncio.Task[None] | None = None


class DeviceWatcher:
    """`devices()` is what the host reports and what it offers to claims. A phone that hangs holds up no other."""

    def __init__(
        self,
        server: AdbServer,
        *,
        poll_seconds: float = 0.5,
        refresh_seconds: float = 30.0,
        retry_seconds: float = 5.0,
        flap_seconds: float = 5.0,
    ) -> None:
        self._server = server
        self._poll_seconds = poll_seconds
        self._refresh_seconds = refresh_seconds
        self._retry_seconds = retry_seconds
        self._flap_seconds = flap_seconds
        self._known: dict[str, _Known] = {}
        self._devices: tuple[DeviceFacts, ...] = ()
        # Once two phones had the same number at once, it names neither of them any more.
        self._shared_serials: set[str] = set()
        self._changed = asyncio.Event()
        self._threads = CallThreads("device-facts", limit=64)
        self._polling: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def start(self) -> None:
        self._polling = asyncio.create_task(self._poll(), name="device-watcher")

    async def stop(self) -> None:
        """Waits for the phones that are being asked, at most for the deadline of one command."""
        tasks = [task for task in (self._polling, *(known.asking for known in self._known.values())) if task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._threads.close()

    def devices(self) -> tuple[DeviceFacts, ...]:
        """Every device, whatever its state, sorted by serial; each `device_serial` occurs once."""
        return self._devices

    async def wait_for_change(self) -> tuple[DeviceFacts, ...]:
        """Returns at the next change of any device."""
        await self._changed.wait()
        return self._devices

    async def _poll(self) -> None:
        while True:
            try:
                self._note(await self._server.listed_devices())
            except TROUBLE as trouble:
                log.warning("devices.not_listed", said=str(trouble))
                self._note([])
            await asyncio.sleep(self._poll_seconds)

    def _note(self, listing: list[ListedDevice]) -> None:
        now = boot_seconds()
        for listed in listing:
            self._note_listed(listed, now)
        present = {listed.transport_serial for listed in listing}
        for serial, known in list(self._known.items()):
            if serial not in present:
                self._note_missing(serial, known, now)
        self._publish()

    def _note_listed(self, listed: ListedDevice, now: float) -> None:
        known = self._known.setdefault(listed.transport_serial, _Known(listed, now, now))
        # Another transport under the same name may lead to another phone, so what was known does not count.
        if (known.listed.transport_id, known.listed.state) != (listed.transport_id, listed.state):
            known.is_confirmed, known.asked_at = False, None
        known.listed, known.seen_at = listed, now
        if listed.state is DeviceState.READY and known.asking is None and self._is_due(known, now):
            known.asked_at = now
            known.asking = asyncio.create_task(self._ask(known), name=f"facts-{listed.transport_serial}")

    def _is_due(self, known: _Known, now: float) -> bool:
        wait_seconds = self._retry_seconds if known.failed else self._refresh_seconds
        return known.asked_at is None or now - known.asked_at >= wait_seconds

    def _note_missing(self, serial: str, known: _Known, now: float) -> None:
        missing_seconds = now - known.seen_at
        state = DeviceState.OFFLINE if missing_seconds < self._flap_seconds else DeviceState.ABSENT
        known.listed = replace(known.listed, state=state, adb_state="", remedy=REMEDIES[state], transport_id=None)
        if missing_seconds > _FORGET_SECONDS:
            del self._known[serial]

    async def _ask(self, known: _Known) -> None:
        transport_id = known.listed.transport_id
        # Looking takes nothing from a run that holds the device, so no lease is asked for.
        shell = Shell(lambda: self._server.port, known.listed.transport_serial, lambda: True)
        try:
            answer = await self._threads.run(lambda: read_facts(shell))
        finally:
            known.asking = None
        if known.listed.transport_id != transport_id:
            known.asked_at = None
            return
        known.is_confirmed = True
        if isinstance(answer, Failed):
            known.failed = answer
            log.warning("device.unanswered", transport_serial=shell.transport_serial, said=answer.message)
        else:
            known.facts, known.failed = answer, None
        self._publish()

    def _publish(self) -> None:
        latest_first = sorted(self._known.values(), key=lambda known: known.seen_at, reverse=True)
        settled_before = boot_seconds() - self._flap_seconds
        shown = (known for known in latest_first if known.first_seen_at < settled_before or not _is_on_its_way(known))
        current = [facts for known in shown if (facts := _current(known)) is not None]
        devices = tuple(sorted(self._told_apart(current), key=lambda facts: facts.device_serial))
        if devices != self._devices:
            self._devices = devices
            self._changed.set()
            self._changed = asyncio.Event()

    def _told_apart(self, latest_first: list[DeviceFacts]) -> list[DeviceFacts]:
        """Gives each device a serial of its own, and drops the dead end of a phone that came back another way."""
        times_ready = Counter(facts.device_serial for facts in latest_first if facts.state is DeviceState.READY)
        self._shared_serials |= {serial for serial, times in times_ready.items() if times > 1}
        told_apart: dict[str, DeviceFacts] = {}
        for facts in sorted(latest_first, key=lambda facts: facts.state is not DeviceState.READY):
            own = _renamed(facts) if facts.device_serial in self._shared_serials else facts
            told_apart.setdefault(own.device_serial, own)
        return list(told_apart.values())


def _is_on_its_way(known: _Known) -> bool:
    return known.facts is None and known.listed.state in _PASSING


def _current(known: _Known) -> DeviceFacts | None:
    """The device as it is now; None while nobody knows yet which device this is."""
    listed = known.listed
    facts = known.facts or DeviceFacts(listed.transport_serial, listed.transport_serial, listed.state)
    facts = replace(facts, model=facts.model or listed.model)
    if listed.state is not DeviceState.READY:
        return replace(facts, state=listed.state, remedy=listed.remedy)
    if not known.is_confirmed:
        connecting = replace(facts, state=DeviceState.CONNECTING, remedy=REMEDIES[DeviceState.CONNECTING])
        return connecting if known.facts else None
    if known.failed is not None:
        remedy = f"It is connected but does not answer ({known.failed.message}). Restart it; Android 7 is needed."
        return replace(facts, state=DeviceState.UNKNOWN, remedy=remedy)
    return facts


def _renamed(facts: DeviceFacts) -> DeviceFacts:
    note = f"another device of this host has the serial number {facts.device_serial} too"
    return replace(facts, device_serial=facts.transport_serial, serial_note=note)
