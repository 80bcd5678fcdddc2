"""All that can be done to an agent, in any order, while its turns hang or give way anywhere."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.workers.agent.logs import assert_balanced
from tests.workers.agent.seams import SEAMS
from tests.workers.agent.watched import CAUSES, Watched
from workers.agent.agent import Disposed
from workers.agent.cancellation import CancelSignal

#: What happens when a turn comes by a seam. The one who waits for the signal may also be let go, the deaf one must be.
WAYS = ("passes", "gives way", "waits for the signal", "is deaf")


class AnAgent(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = TemporaryDirectory()
        self.ways: dict[str, str] = {}
        self.held: list[asyncio.Future[None]] = []
        self.waiters: list[asyncio.Task[None]] = []
        self.agent = Watched(self.visit, Path(self.folder.name, "log.jsonl"))

    async def visit(self, seam: str, signal: CancelSignal) -> None:
        match self.ways.get(seam):
            case "gives way":
                for _ in range(3):
                    await asyncio.sleep(0)
            case "waits for the signal":
                held = self.hold()
                signal.on_abort(lambda: held.done() or held.set_result(None))
                await held
            case "is deaf":
                await self.hold()
            case _:
                pass

    def hold(self) -> asyncio.Future[None]:
        self.held.append(asyncio.get_running_loop().create_future())
        return self.held[-1]

    def do(self, what: Coroutine[Any, Any, None]) -> None:
        self.loop.run_until_complete(what)

    def let_go(self) -> None:
        if self.held:
            held = self.held.pop(0)
            if not held.done():
                held.set_result(None)

    @rule(seam=st.sampled_from([*SEAMS, "flush"]), way=st.sampled_from(WAYS))
    def have_a_seam_behave(self, seam: str, way: str) -> None:
        self.ways[seam] = way

    @rule()
    def prompt(self) -> None:
        async def prompt() -> None:
            if not self.agent.agent.is_disposed:
                self.agent.prompt()
                return
            with pytest.raises(Disposed):
                self.agent.agent.prompt("too late")

        self.do(prompt())

    @rule()
    def steer(self) -> None:
        async def steer() -> None:
            if not self.agent.agent.is_disposed:
                self.agent.steer()
                return
            with pytest.raises(Disposed):
                self.agent.agent.steer("too late")

        self.do(steer())

    @rule(cause=st.sampled_from(CAUSES))
    def cancel(self, cause: Any) -> None:
        async def cancel() -> None:
            self.agent.cancel(cause)

        self.do(cancel())

    # One of the choices only, so that most examples get somewhere before it.
    @rule(choice=st.integers(0, 5))
    def dispose(self, choice: int) -> None:
        async def dispose() -> None:
            self.waiters.append(asyncio.create_task(self.agent.dispose()))
            await asyncio.sleep(0)

        if choice == 5:
            self.do(dispose())

    @rule()
    def wait_for_idle(self) -> None:
        async def wait() -> None:
            self.waiters.append(asyncio.create_task(self.agent.when_idle()))
            await asyncio.sleep(0)

        self.do(wait())

    @rule(times=st.integers(1, 12))
    def let_time_pass(self, times: int) -> None:
        async def give_way() -> None:
            for _ in range(times):
                await asyncio.sleep(0)

        self.do(give_way())

    @rule()
    def let_one_thing_happen(self) -> None:
        async def let_go() -> None:
            self.let_go()
            await asyncio.sleep(0)

        self.do(let_go())

    @rule()
    def let_it_settle(self) -> None:
        self.do(self.settle())

    async def settle(self) -> None:
        self.ways.clear()
        for _ in range(3000):
            if self.agent.agent._settled.is_set():
                break
            self.let_go()
            await asyncio.sleep(0)
        await self.agent.when_idle()
        await asyncio.gather(*self.waiters)
        self.waiters.clear()
        self.agent.judge()

    @invariant()
    def no_two_turns_run_and_the_log_is_balanced_so_far(self) -> None:
        assert_balanced(self.agent.session.events, is_over=False)
        assert len(self.agent.seams.running) <= 1

    @invariant()
    def it_is_idle_only_when_nothing_runs(self) -> None:
        agent = self.agent.agent
        if agent.status != "running":
            assert (agent.turn, self.agent.seams.running) == (None, [])
        if agent.turn is not None or self.agent.seams.running:
            assert not agent._settled.is_set()

    @invariant()
    def who_waits_was_told_the_truth(self) -> None:
        for task in self.waiters:
            if task.done():
                task.result()

    def teardown(self) -> None:
        try:
            self.do(self.settle())
            self.do(self.agent.dispose())
            self.agent.judge()
        finally:
            self.loop.close()
            self.folder.cleanup()


TestAnAgent = AnAgent.TestCase
TestAnAgent.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
