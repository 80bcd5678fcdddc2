"""One frame of the adb wire: a header of six little-endian words, then the payload."""

import asyncio
import struct
from dataclasses import dataclass

CNXN = 0x4E584E43
AUTH = 0x48545541
OPEN = 0x4E45504F
OKAY = 0x59414B4F
CLSE = 0x45534C43
WRTE = 0x45545257

#: From this version on checksums are neither written nor read.
VERSION_WITHOUT_CHECKSUM = 0x01000001
#: What a host may send in one packet; it is also what we announce.
MAX_PAYLOAD_BYTES = 1024 * 1024

AUTH_TOKEN, AUTH_SIGNATURE, AUTH_PUBLIC_KEY = 1, 2, 3

_HEADER = struct.Struct("<6I")


class ProtocolError(Exception):
    """The host sent bytes that are no adb packet; close the connection."""


@dataclass(frozen=True, slots=True)
class Packet:
    command: int
    arg0: int
    arg1: int
    payload: bytes = b""

    def encode(self, *, with_checksum: bool) -> bytes:
        checksum = sum(self.payload) & 0xFFFFFFFF if with_checksum else 0
        header = _HEADER.pack(
            self.command, self.arg0, self.arg1, len(self.payload), checksum, self.command ^ 0xFFFFFFFF
        )
        return header + self.payload


async def read_packet(reader: asyncio.StreamReader) -> Packet:
    """The next packet.

    Raises:
        ProtocolError: the bytes are no packet, or one too large.
        asyncio.IncompleteReadError: the host went away.
    """
    command, arg0, arg1, length, _, magic = _HEADER.unpack(await reader.readexactly(_HEADER.size))
    if magic != command ^ 0xFFFFFFFF:
        raise ProtocolError(f"not an adb packet: command {command:#010x}, magic {magic:#010x}")
    if length > MAX_PAYLOAD_BYTES:
        raise ProtocolError(f"a payload of {length} bytes; {MAX_PAYLOAD_BYTES} are allowed")
    return Packet(command, arg0, arg1, await reader.readexactly(length) if length else b"")
