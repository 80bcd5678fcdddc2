"""Which service answers which name that an adb server opens."""

from typing import TYPE_CHECKING

from workers.phone.adbd.connection import Service
from workers.phone.adbd.stream import Stream
from workers.phone.adbd.sync_service import serve_sync
from workers.phone.shell_service import ShellService
from workers.phone.strike import ClientGone, ConnectionCut, OutputTrickles
from workers.phone.sync_watch import SyncWatch

if TYPE_CHECKING:
    from workers.phone.phone import Phone

_NO_ROOT = b"adbd cannot run as root in production builds\n"


def open_service(phone: "Phone", name: str) -> Service | None:
    """The service for a name as it stands in OPEN; None for one that this phone does not have, or refuses now."""
    kind, _, argument = name.partition(":")
    # A phone that refuses for ever must still hear that it should stop.
    is_order = argument.lstrip().startswith("corral-fault")
    if not is_order and phone.faults.take(name, refusing=True) is not None:
        return None
    match kind.split(",")[0]:
        case "shell" | "exec":
            return ShellService(phone, service=kind, command=argument.strip())
        case "sync":
            return lambda stream: _sync(phone, stream)
        case "root":
            return lambda stream: stream.write(_NO_ROOT)
        case "reboot":
            return lambda stream: _reboot(phone, stream)
        case _:
            return None


async def _sync(phone: "Phone", stream: Stream) -> None:
    try:
        await serve_sync(stream, phone.files, SyncWatch(phone, stream))
    except (ConnectionCut, OutputTrickles):
        stream.drop_connection()
    except ClientGone:
        pass


async def _reboot(phone: "Phone", stream: Stream) -> None:
    phone.reboot()
    stream.drop_connection()
