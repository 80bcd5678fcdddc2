"""Keeps the parts of a stack running until it is told to stop, and then ends them in order.

One loop in one thread: the parts are bound to the thread that started them, and there is nothing to lock.
"""

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from corral.stack.parts import Part, end, is_running
from corral.stack.process import signal_group
from corral.stack.stop_request import StopRequest

#: The first restart comes at once for a person, and a part that cannot live does not heat the machine.
RESTART_PAUSES_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
#: Who lived this long is well again: its next restart is quick.
STEADY_AFTER_SECONDS = 30.0
#: While it starts, a part that cannot live is a mistake in its surroundings, which a person has to mend.
GIVE_UP_AFTER_DEATHS = 4
_POLL_SECONDS = 0.1


class StartFailed(Exception):
    """The stack did not come up; the message says which part and where its log is."""


@dataclass(slots=True)
class _Life:
    """One part, and how its lives went so far."""

    part: Part
    started_at: float = 0.0
    deaths_in_a_row: int = 0
    starts_again_at: float | None = None


class Supervisor:
    """Parts are ended in the reverse order of `start`: who depends on others is started after them.

    Args:
        stop_request: looked at all the time.
        announce: called with a sentence for people when a part died.
        on_change: called when process ids have changed.
    """

    def __init__(
        self, *, stop_request: StopRequest, announce: Callable[[str], None], on_change: Callable[[], None]
    ) -> None:
        self._stop_request = stop_request
        self._announce = announce
        self._on_change = on_change
        self._groups: list[tuple[list[_Life], float]] = []

    @property
    def pids(self) -> dict[str, int]:
        """Process ids by the names of the parts that run now."""
        parts = (life.part for lives, _ in self._groups for life in lives)
        return {part.name: part.process.pid for part in parts if part.process is not None and is_running(part)}

    def start(self, *parts: Part, stop_limit_seconds: float) -> None:
        """Start parts together; they are ended together too, each given `stop_limit_seconds` before it is killed."""
        lives = [_Life(part) for part in parts]
        self._groups.append((lives, stop_limit_seconds))
        for life in lives:
            life.part.start()
            life.started_at = time.monotonic()

    def wait_until(self, is_ready: Callable[[], bool], *, what: str, limit_seconds: float) -> None:
        """Look after the parts until the condition holds.

        Raises:
            StartFailed: it did not hold within the limit, or a part ends again and again.
            StopAsked: meanwhile.
        """
        deadline = time.monotonic() + limit_seconds
        while not is_ready():
            self._stop_request.check()
            if time.monotonic() > deadline:
                raise StartFailed(f"{what} did not get ready within {limit_seconds:g} s")
            self.look_after()
            self._check_that_parts_stay_up(what)
            time.sleep(_POLL_SECONDS)

    def run(self) -> None:
        """Look after the parts until a stop is asked for."""
        while not self._stop_request.is_asked:
            self.look_after()
            time.sleep(_POLL_SECONDS)

    def look_after(self) -> None:
        """Start again what died, after a pause that grows with each death."""
        for lives, _ in self._groups:
            for life in lives:
                self._look_after(life, time.monotonic())

    def stop(self) -> None:
        """End everything that was started; nothing of it runs afterwards. A second request to stop kills."""
        while self._groups:
            lives, limit_seconds = self._groups[-1]
            end(
                [life.part for life in lives],
                limit_seconds=limit_seconds,
                should_hurry=lambda: self._stop_request.is_urgent,
            )
            self._groups.pop()

    def _check_that_parts_stay_up(self, what: str) -> None:
        for lives, _ in self._groups:
            for life in lives:
                if life.deaths_in_a_row >= GIVE_UP_AFTER_DEATHS:
                    raise StartFailed(f"{what} cannot get ready: {life.part.name} ends again and again")

    def _look_after(self, life: _Life, now: float) -> None:
        if life.starts_again_at is not None:
            if now >= life.starts_again_at:
                self._start_again(life)
        elif not is_running(life.part):
            self._bury(life, now)

    def _bury(self, life: _Life, now: float) -> None:
        process = life.part.process
        if process is not None:
            # What it has left behind would be in the way of its next life.
            signal_group(process, signal.SIGKILL)
        if now - life.started_at > STEADY_AFTER_SECONDS:
            life.deaths_in_a_row = 0
        pause_seconds = RESTART_PAUSES_SECONDS[min(life.deaths_in_a_row, len(RESTART_PAUSES_SECONDS) - 1)]
        life.deaths_in_a_row += 1
        life.starts_again_at = now + pause_seconds
        self._announce(f"{life.part.name} ended ({_ending(life.part)}); it is started again in {pause_seconds:g} s")

    def _start_again(self, life: _Life) -> None:
        life.starts_again_at = None
        life.started_at = time.monotonic()
        try:
            life.part.start()
        except Exception as trouble:  # noqa: BLE001 - whatever kept it from starting, it is tried again
            self._announce(f"{life.part.name} could not be started: {trouble}")
            self._bury(life, time.monotonic())
        self._on_change()


def _ending(part: Part) -> str:
    code = part.process.poll() if part.process is not None else None
    if code is None:
        return "never ran"
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
