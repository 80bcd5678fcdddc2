"""One call of a tool, as it is carried out on the device."""

import hashlib

from workers.agent.tools.failures import MAY_HAVE_HAPPENED, OutcomeUnknown, ToolFailed, with_stop, words_of
from workers.agent.tools.sight import Sight
from workers.agent.tools.tool import ToolCode, ToolOutcome, ToolRequest
from workers.agent.tools.waiting import pause_or_abort
from workers.clock import boot_seconds
from workers.device.actions import Action
from workers.device.observation import Node, Observation, TreeMissing
from workers.device.outcome import Done, ErrorCode, Failed, Unknown


class DeviceCall:
    """Acts and looks for one call, and keeps what it did, so that a call cut short can tell how far it came.

    The signal and the time budget are asked before the device is touched or looked at; what was sent is awaited.
    """

    def __init__(self, sight: Sight, request: ToolRequest) -> None:
        self.sight = sight
        self.did: list[str] = []
        self._request = request
        self._tried: list[str] = []
        self._screen_key = sight.screen_key

    def check(self) -> None:
        """Raises `TurnInterrupted`, or `ToolFailed` when the time budget has ended."""
        self._request.signal.check()
        if self.seconds_left() <= 0:
            raise ToolFailed(ErrorCode.TIMEOUT, "the time budget has ended")

    def seconds_left(self) -> float:
        """Until the end of the time budget."""
        deadline_at = self._request.deadline_at
        return float("inf") if deadline_at is None else deadline_at - boot_seconds()

    async def do(self, action: Action, deed: str, *, known_as: str | None = None) -> None:
        """Does `action` once. `deed` tells of it ("tapped …"); `known_as` stands for an action that holds a secret.

        Raises:
            TurnInterrupted, ToolFailed: it was not done. OutcomeUnknown: nobody knows.
        """
        self.check()
        if not self._tried:
            self._screen_key = self.sight.screen_key
        self._tried.append(known_as or repr(action))
        outcome = await self.sight.device.perform(action)
        if not (isinstance(outcome, Failed) and outcome.code is ErrorCode.OUT_OF_BOUNDS):
            self.sight.acted()
        match outcome:
            case Done():
                self.did.append(deed)
            case Failed(code, message):
                raise ToolFailed(code, message)
            case Unknown(code, message):
                raise OutcomeUnknown(code, message)

    async def look(self) -> Observation:
        """One look; its tree may be missing. Raises `ToolFailed` when the device is gone."""
        self.check()
        observation = await self.sight.look()
        if isinstance(observation.tree, TreeMissing) and observation.tree.code.ends_a_run:
            raise ToolFailed(observation.tree.code, observation.tree.message)
        return observation

    async def look_at_tree(self) -> Observation:
        """One look that has a tree. Raises `ToolFailed`."""
        observation = await self.look()
        if not isinstance(observation.tree, Node):
            raise ToolFailed(observation.tree.code, observation.tree.message)
        return observation

    async def size_px(self) -> tuple[int, int]:
        """Width and height of the screen as last seen. Raises `ToolFailed` if it cannot be known."""
        size_px = self.sight.size_px
        if size_px is None:
            await self.look()
            size_px = self.sight.size_px
        if size_px is None:
            message = "the size of the screen is not known, so only coordinates in px can be used"
            raise ToolFailed(ErrorCode.TREE_UNAVAILABLE, message)
        return size_px

    async def pause(self, seconds: float) -> None:
        """Waits, at most until the time budget ends. Raises as `check` does."""
        await pause_or_abort(min(seconds, max(0.0, self.seconds_left())), self._request.signal)
        self.check()

    def redact(self, text: str) -> str:
        return self.sight.secrets.redacted(text)

    def repeat_key(self, name: str, arguments: str) -> str | None:
        """The same for the same actions on the same screen; where none was sent, for the same arguments.

        None for actions on a screen that nobody had looked at since the one before: whether that one changed
        something is not known, and some things are done several times in a row.
        """
        if self._tried and self._screen_key is None:
            return None
        parts = [name, self._screen_key or "", *(self._tried or [arguments])]
        return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:32]

    def outcome_of(self, failed: ToolFailed) -> ToolOutcome:
        """How the call ended that `failed`, and what of it had been done before."""
        before = f"This was done before: {'; '.join(self.did)}." if self.did else ""
        if isinstance(failed, OutcomeUnknown):
            text = f"unknown ({failed.code}): {with_stop(failed.text)} {MAY_HAVE_HAPPENED} {before}"
            return ToolOutcome("unknown", text.rstrip(), code=failed.code)
        return ToolOutcome("failed", f"{words_of(failed.code, failed.text)} {before}".rstrip(), code=failed.code)

    def aborted(self) -> ToolOutcome:
        """How the call ended that was interrupted between two of its actions."""
        text = f"aborted: the turn was interrupted. This was done before: {'; '.join(self.did)}. The rest was not."
        return ToolOutcome("aborted", text, code=ToolCode.ABORTED)
