"""The protocol itself, spoken by hand: what no well-behaved adb server sends."""

import socket
import struct

import pytest

from workers.phone.adbd import packet as wire
from workers.phone.adbd.packet import Packet
from workers.phone.fleet import phones

HOST_VERSION = 0x01000001


class Host:
    def __init__(self, address: str) -> None:
        name, _, port = address.partition(":")
        self.socket = socket.create_connection((name, int(port)), timeout=5)

    def send(self, command: int, arg0: int = 0, arg1: int = 0, payload: bytes = b"") -> None:
        self.socket.sendall(Packet(command, arg0, arg1, payload).encode(with_checksum=True))

    def receive(self) -> tuple[Packet, int]:
        """A packet and its checksum."""
        command, arg0, arg1, length, checksum, _ = struct.unpack("<6I", self._exactly(24))
        return Packet(command, arg0, arg1, self._exactly(length)), checksum

    def greet(self, *, version: int = HOST_VERSION, max_bytes: int = 4096) -> Packet:
        self.send(wire.CNXN, version, max_bytes, b"host::\0")
        return self.receive()[0]

    def is_cut(self) -> bool:
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True

    def _exactly(self, count: int) -> bytes:
        received = b""
        while len(received) < count:
            more = self.socket.recv(count - len(received))
            assert more, "the phone closed the connection"
            received += more
        return received


@pytest.fixture
def fleet():
    with phones() as fleet:
        yield fleet


@pytest.fixture
def host(fleet):
    host = Host(fleet.addresses[0])
    yield host
    host.socket.close()


def test_it_introduces_itself(host):
    answer = host.greet()
    assert (answer.command, answer.arg0) == (wire.CNXN, HOST_VERSION)
    assert answer.payload.startswith(b"device::ro.product.name=corral_phone;ro.product.model=Corral Phone;")
    assert b"features=shell_v2,cmd,stat_v2,ls_v2,fixed_push_mkdir" in answer.payload


def test_an_old_host_gets_checksums(host):
    assert host.greet(version=0x01000000).arg0 == 0x01000000
    host.send(wire.OPEN, 7, 0, b"shell:echo hi\0")
    assert host.receive()[0] == Packet(wire.OKAY, 1, 7)
    assert host.receive() == (Packet(wire.WRTE, 1, 7, b"hi\n"), sum(b"hi\n"))


def test_it_sends_no_more_than_the_host_takes_and_waits_for_each_okay(host, fleet):
    fleet.phones[0].files.write("/sdcard/x", b"a" * 10)
    host.greet(max_bytes=4)
    host.send(wire.OPEN, 7, 0, b"exec:cat /sdcard/x\0")
    assert host.receive()[0].command == wire.OKAY
    for part in (b"aaaa", b"aaaa", b"aa"):
        assert host.receive()[0] == Packet(wire.WRTE, 1, 7, part)
        host.socket.settimeout(0.05)
        with pytest.raises(TimeoutError):
            host.socket.recv(1)
        host.socket.settimeout(5)
        host.send(wire.OKAY, 7, 1)
    assert host.receive()[0] == Packet(wire.CLSE, 1, 7)


def test_an_unknown_service_is_closed_at_once(host):
    host.greet()
    host.send(wire.OPEN, 7, 0, b"jdwp:1\0")
    assert host.receive()[0] == Packet(wire.CLSE, 0, 7)


def test_streams_do_not_disturb_each_other(host):
    host.greet()
    host.send(wire.OPEN, 7, 0, b"shell:sleep 5\0")
    host.send(wire.OPEN, 8, 0, b"shell:echo hi\0")
    assert [host.receive()[0] for _ in range(3)][1:] == [Packet(wire.OKAY, 2, 8), Packet(wire.WRTE, 2, 8, b"hi\n")]


def test_packets_for_streams_that_are_none_are_let_be(host):
    host.greet()
    for command in (wire.WRTE, wire.OKAY, wire.CLSE, 0x534C5453):
        host.send(command, 9, 99, b"x" if command == wire.WRTE else b"")
    host.send(wire.OPEN, 7, 0, b"shell:true\0")
    assert host.receive()[0].command == wire.OKAY


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        struct.pack("<6I", wire.WRTE, 0, 0, 2**31, 0, wire.WRTE ^ 0xFFFFFFFF),
        struct.pack("<6I", wire.CNXN, 0, 0, 0, 0, 1),
    ],
)
def test_bytes_that_are_no_packet_end_the_connection(host, fleet, sent):
    host.socket.sendall(sent)
    assert host.is_cut()
    another = Host(fleet.addresses[0])
    assert another.greet().command == wire.CNXN
    another.socket.close()


@pytest.mark.parametrize("asked", [b"WHAT\x01\0\0\0x", b"STAT\xff\xff\xff\xff", b"SEND\x01\0\0\0aDATA\xff\xff\xff\xff"])
def test_a_file_request_that_makes_no_sense_fails_by_name(host, asked):
    host.greet()
    host.send(wire.OPEN, 7, 0, b"sync:\0")
    assert host.receive()[0].command == wire.OKAY
    host.send(wire.WRTE, 7, 1, asked)
    answers = [host.receive()[0] for _ in range(2)]
    assert b"FAIL" in b"".join(answer.payload for answer in answers)
