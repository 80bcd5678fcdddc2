"""A device of a few lines, on the far side of the runner's interface, and short ways to run a flow on it."""

import asyncio
from collections.abc import Callable

from corral.flow.parser import parse_flow
from workers.device.actions import Action
from workers.device.observation import Bounds, Node, Observation, TreeMissing
from workers.device.outcome import Done, ErrorCode, Failed, Outcome
from workers.run.lookup_times import LookupTimes
from workers.run.result import Checkpoint, RunResult
from workers.run.runner import WorkflowRunner

WIDTH_PX, HEIGHT_PX = 1000, 2000
PNG = b"\x89PNG of the screen"
SHORT = LookupTimes(element_seconds=0.1, optional_seconds=0.05, poll_seconds=0.01)


def node(text="", *children, bounds=(0, 0, WIDTH_PX, HEIGHT_PX), states="", **fields) -> Node:
    """`states` names what is true of the node, beside being enabled."""
    texts = {"hint": "", "content_desc": "", "resource_id": "", "class_name": "View", "package": "com.example.app"}
    flags = ("checked", "focused", "selected", "clickable", "scrollable", "password")
    return Node(
        text=text,
        **(texts | fields),
        bounds=Bounds(*bounds),
        is_enabled="disabled" not in states,
        **{f"is_{flag}": flag in states for flag in flags},
        children=children,
    )


def screen(*nodes: Node) -> Observation:
    return Observation("seen", WIDTH_PX, HEIGHT_PX, node("", *nodes), is_keyboard_shown=False)


def unreadable(code=ErrorCode.TREE_UNAVAILABLE) -> Observation:
    return Observation("seen", WIDTH_PX, HEIGHT_PX, TreeMissing(code, "no idle state"), is_keyboard_shown=False)


LOGIN = node("Login", bounds=(100, 200, 300, 400))


class FarDevice:
    """Shows `screens`, one for each look, the last one for ever; keeps what was done to it.

    `outcomes` answer the actions in turn, then all are `Done`. `on_action` and `on_look` are called with their number,
    before the answer.
    """

    def __init__(self, *screens: Observation, outcomes=(), picture: bytes | Failed = PNG) -> None:
        self.screens = list(screens) or [screen(LOGIN)]
        self.outcomes: list[Outcome] = list(outcomes)
        self.picture = picture
        self.actions: list[Action] = []
        self.looks = 0
        self.pictures = 0
        self.on_action: Callable[[int], object] = lambda _: None
        self.on_look: Callable[[int], object] = lambda _: None

    async def perform(self, action: Action) -> Outcome:
        self.actions.append(action)
        self.on_action(len(self.actions))
        await asyncio.sleep(0)
        return self.outcomes.pop(0) if self.outcomes else Done()

    async def observe(self) -> Observation:
        self.looks += 1
        self.on_look(self.looks)
        await asyncio.sleep(0)
        return self.screens.pop(0) if len(self.screens) > 1 else self.screens[0]

    async def screenshot_png(self) -> bytes | Failed:
        self.pictures += 1
        return self.picture


class StopSwitch:
    """What the host holds: whether to stop, why, and the event that ends waits."""

    def __init__(self, reason: str | None = None) -> None:
        self.reason = reason
        self.event = asyncio.Event()

    def press(self, _=None) -> None:
        self.event.set()

    def keywords(self) -> dict:
        stop_reason = None if self.reason is None else (lambda: self.reason)
        return {"should_stop": self.event.is_set, "stop_reason": stop_reason, "stopped": self.event}


class Run:
    """One run of a flow, with all that it told."""

    def __init__(self, commands: str, device: FarDevice, *, times=SHORT, switch: StopSwitch | None = None, **keywords):
        self.device = device
        self.checkpoints: list[Checkpoint] = []
        self.artifacts: dict[str, tuple[bytes, str]] = {}
        told = {"on_checkpoint": self.checkpoints.append, "on_artifact": self._keep, "should_stop": lambda: False}
        stop = switch.keywords() if switch else {}
        self.runner = WorkflowRunner(
            parse_flow(f"appId: com.example.app\n---\n{commands}"),
            device,
            times=times,
            **(told | stop | keywords),
        )

    async def _keep(self, name: str, content: bytes, media_type: str) -> None:
        self.artifacts[name] = (content, media_type)

    async def end(self) -> RunResult:
        async with asyncio.timeout(20):
            return await self.runner.run()


async def run(commands: str, device: FarDevice | None = None, **keywords) -> RunResult:
    return await Run(commands, device or FarDevice(), **keywords).end()


async def actions_of(commands: str, *screens: Observation, **keywords) -> list[Action]:
    """What a flow that ends well does to the device."""
    device = FarDevice(*screens, **keywords)
    result = await run(commands, device)
    assert result.status == "done", result.failure_reason
    return device.actions
