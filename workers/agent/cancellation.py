"""Who may stop a turn, and how all that runs in it learns of this.

    agent.cancel(cause) ──► TurnCancellation.abort ──► CancelSignal ──► hooks, requests, tools, model
    agent.dispose()     ──►        (one per turn, held by the loop alone)     (all share this one object)

The signal says *that* and *by whom* a turn was interrupted. It lives for one turn: whoever got it may ask it and wait
on it until it returns from the call in which it got it, and must not keep it to judge another turn. All of this
belongs to one event loop; it is not for other threads.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

import structlog

log = structlog.get_logger()

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AgentCancelCause:
    """Who asked for the cancel: the `user`, or the `parent` agent that started this one.

    Anybody may hold one for any time: it is a word, and gives no right to cancel anything. A closed
    vocabulary that exists at run time only: what the log keeps of an interrupted turn is `aborted`.
    """

    kind: Literal["user", "parent"]


@dataclass(frozen=True, slots=True)
class AgentDisposed:
    """The agent itself was disposed of. Only the agent's own disposal makes this reason; no caller can pass it."""

    kind: Literal["disposed"] = "disposed"


AgentInterruptReason = AgentCancelCause | AgentDisposed

USER = AgentCancelCause("user")
PARENT = AgentCancelCause("parent")
DISPOSED = AgentDisposed()

_CAUSES: Mapping[str, AgentCancelCause] = {"user": USER, "parent": PARENT}


class InvalidCancelCause(TypeError):
    """A cause is `USER`, `PARENT`, or a plain dict {"kind": "user" | "parent"}; nothing else is accepted."""


class TurnInterrupted(Exception):
    """The turn was cancelled, or its agent disposed of: end what you do and let this pass."""

    def __init__(self, reason: AgentInterruptReason) -> None:
        super().__init__(reason.kind)
        self.reason = reason


def normalized_cause(cause: object) -> AgentCancelCause:
    """The frozen cause that `cause` means, detached from what the caller holds.

    Raises:
        InvalidCancelCause: it is not exactly one of ours. Subclasses, other mappings and further keys are refused.
    """
    kind = _kind_of(cause)
    if type(kind) is not str or kind not in _CAUSES:
        # Not the value itself: what somebody passes by mistake may hold what must not be shown.
        raise InvalidCancelCause(
            f"a {type(cause).__name__} like this is no cause of a cancel; "
            "pass USER, PARENT or {'kind': 'user' | 'parent'}"
        )
    return _CAUSES[kind]


def _kind_of(cause: object) -> object:
    if type(cause) is AgentCancelCause:
        return cause.kind
    # The exact type, and the exact keys: a subclass could answer differently each time it is asked.
    if type(cause) is dict and list(mapping := cast("dict[object, object]", cause)) == ["kind"]:
        return mapping["kind"]
    return None


class CancelSignal:
    """Whether this turn was interrupted. It can be asked, awaited and listened to, never fired, by its holders.

    Whatever runs in the turn may hold it, until it returns from the call in which it got it. Kept for longer, it says
    nothing about any other turn.
    """

    __slots__ = ("_callbacks", "_fired", "_reason")

    def __init__(self) -> None:
        self._reason: AgentInterruptReason | None = None
        self._fired = asyncio.Event()
        self._callbacks: dict[object, Callable[[], object]] = {}

    @property
    def is_aborted(self) -> bool:
        return self._reason is not None

    @property
    def reason(self) -> AgentInterruptReason | None:
        """The first reason; it never changes. None while the turn goes on."""
        return self._reason

    def check(self) -> None:
        """Raises `TurnInterrupted` once the signal has fired."""
        if self._reason is not None:
            raise TurnInterrupted(self._reason)

    async def wait(self) -> None:
        """Returns when the signal fires, at once if it has."""
        await self._fired.wait()

    def on_abort(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Calls back once when the signal fires, at once if it has. Returns what takes the callback away again.

        To be taken away before the call ends in which the signal was got. The callback must not block.
        """
        if self._reason is not None:
            callback()
            return lambda: None
        key = object()
        self._callbacks[key] = callback
        return lambda: cast("None", self._callbacks.pop(key, None))

    def _fire(self, reason: AgentInterruptReason) -> bool:
        if self._reason is not None:
            return False
        self._reason = reason
        self._fired.set()
        callbacks, self._callbacks = list(self._callbacks.values()), {}
        for callback in callbacks:
            try:
                callback()
            except Exception:
                # One listener's defect must not keep the cancel from the others.
                log.exception("agent.abort_callback_failed")
        return True

    def __copy__(self) -> Any:
        raise TypeError("a signal belongs to its turn and is not copied")

    def __deepcopy__(self, _memo: object) -> Any:
        raise TypeError("a signal belongs to its turn and is not copied")

    def __reduce__(self) -> Any:
        raise TypeError("a signal belongs to its turn and is not stored")


class TurnCancellation:
    """The right to interrupt one turn.

    The agent's driver makes one for each prospective turn and holds it alone, from before `running` is announced until
    the log of the turn is on disk. Only its signal is handed out.
    """

    __slots__ = ("signal",)

    def __init__(self) -> None:
        self.signal = CancelSignal()

    def abort(self, reason: AgentInterruptReason) -> bool:
        """Fires the signal. True if this was the first reason; later ones change nothing."""
        # The two are one thing, of which only the other half is handed out.
        return self.signal._fire(reason)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


class StrayCancellation(RuntimeError):
    """What ran in the turn cancelled a task of its own and let that pass as if the agent's task had been cancelled."""


async def contained(awaited: Awaitable[T]) -> T:
    """What `awaited` brings.

    Raises:
        StrayCancellation: it ended by an `asyncio.CancelledError` that was not meant for this task: a defect like any
            other, which must not end the driver.
    """
    try:
        return await awaited
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise StrayCancellation(StrayCancellation.__doc__) from error


async def pause_unless_aborted(seconds: float, signal: CancelSignal) -> None:
    """Waits for `seconds`, or less if the signal fires before; leaves nothing behind that still waits."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await signal.wait()


def agent_interrupt_reason_of(signal: CancelSignal) -> AgentInterruptReason | None:
    """Why `signal` fired, or None. Reads its argument and nothing else: no current agent, no current turn."""
    return signal.reason
