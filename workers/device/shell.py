"""The one place that runs a shell command on a phone, and that knows how such a call can end.

connect ── choose the device ── may_touch? ── send ─────── answer, exit code
   │              │                 │           │               │
   └── Failed: nothing was sent ────┘           └─ lost: Unknown if the command changes something, else Failed
"""

from collections.abc import Callable
from dataclasses import dataclass

from workers.device.command_line import CommandLine
from workers.device.connection import TROUBLE, AdbError, Connection, open_transport
from workers.device.deadline import Deadline
from workers.device.outcome import ErrorCode, Failed, Unknown
from workers.metrics import ADB_COMMANDS

#: A tap takes a tenth of a second, on a slow phone under load two; ten mean that it hangs.
DEADLINE_SECONDS = 10.0

#: Longer answers are refused before they fill the host's memory.
MAX_OUTPUT_BYTES = 16 * 1024 * 1024

_STDOUT, _STDERR, _EXIT = 1, 2, 3


@dataclass(frozen=True, slots=True)
class ShellOutput:
    """What a command printed, and its exit code: it ran to its end."""

    stdout: bytes
    stderr: bytes
    exit_code: int

    @property
    def text(self) -> str:
        return (self.stdout + self.stderr).decode(errors="replace")


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs commands on one device. `may_touch` is asked immediately before each of them is sent."""

    server_port: Callable[[], int]
    transport_serial: str
    may_touch: Callable[[], bool]

    def run(
        self,
        line: CommandLine,
        *,
        changes_device: bool,
        deadline_seconds: float = DEADLINE_SECONDS,
        max_output_bytes: int = MAX_OUTPUT_BYTES,
    ) -> ShellOutput | Failed | Unknown:
        """Blocks for `deadline_seconds` in all at most. `Unknown` only if the command `changes_device`."""
        answer = self._run(
            line, changes_device=changes_device, deadline=Deadline(deadline_seconds), max_output_bytes=max_output_bytes
        )
        ADB_COMMANDS.labels("answered" if isinstance(answer, ShellOutput) else answer.code).inc()
        return answer

    def _run(
        self, line: CommandLine, *, changes_device: bool, deadline: Deadline, max_output_bytes: int
    ) -> ShellOutput | Failed | Unknown:
        try:
            connection = open_transport(self.server_port(), self.transport_serial, deadline)
        except TROUBLE as trouble:
            return Failed(_code_before_sending(trouble), f"nothing was sent: {_said(trouble)}")
        with connection:
            if not self.may_touch():
                return Failed(ErrorCode.LEASE_LOST, "nothing was sent: the right to touch this device has ended")
            try:
                connection.send_command(f"shell,v2:{line}")
                connection.check_okay()
                return _read_output(connection, max_output_bytes)
            except TROUBLE as trouble:
                ending = Unknown if changes_device else Failed
                return ending(_code_after_sending(trouble), f"the answer was lost: {_said(trouble)}")

    def ask(
        self, line: CommandLine, *, deadline_seconds: float = DEADLINE_SECONDS, max_output_bytes: int = MAX_OUTPUT_BYTES
    ) -> ShellOutput | Failed:
        """Runs a command that only looks, so that a lost answer is a plain failure."""
        answer = self.run(
            line, changes_device=False, deadline_seconds=deadline_seconds, max_output_bytes=max_output_bytes
        )
        return Failed(answer.code, answer.message) if isinstance(answer, Unknown) else answer


def _read_output(connection: Connection, max_output_bytes: int) -> ShellOutput:
    printed = {_STDOUT: bytearray(), _STDERR: bytearray()}
    left_bytes = max_output_bytes
    while True:
        header = connection.read(5)
        kind, length = header[0], int.from_bytes(header[1:], "little")
        if length > left_bytes:
            raise AdbError(f"the answer is longer than {max_output_bytes} bytes")
        left_bytes -= length
        payload = connection.read(length)
        if kind == _EXIT and length == 1:
            return ShellOutput(bytes(printed[_STDOUT]), bytes(printed[_STDERR]), payload[0])
        if kind not in printed:
            raise AdbError(f"a packet of unknown kind {kind} in the answer")
        printed[kind] += payload


def _code_before_sending(trouble: Exception) -> ErrorCode:
    said = str(trouble)
    if "unauthorized" in said or "authorizing" in said:
        return ErrorCode.DEVICE_UNAUTHORIZED
    if "offline" in said or "not found" in said or "connecting" in said:
        return ErrorCode.DEVICE_OFFLINE
    return ErrorCode.TRANSPORT_LOST


def _code_after_sending(trouble: Exception) -> ErrorCode:
    return ErrorCode.TIMEOUT if isinstance(trouble, TimeoutError) else ErrorCode.TRANSPORT_LOST


def _said(trouble: Exception) -> str:
    return " ".join(str(trouble).split()) or type(trouble).__name__
