"""Every race again and again, with random pauses at every seam; the seed of a failure is in its notes."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

import pytest

from tests.workers.agent.running import RACE_TIMES
from tests.workers.agent.seams import SEAMS
from tests.workers.agent.watched import CAUSES, Watched
from workers.agent.cancellation import CancelSignal

pytestmark = pytest.mark.anyio

#: A turn with its random pauses gives way about so often.
TURN = 40


class Race(Watched):
    """A watched agent that gives way at random at every seam, the flush of its log included."""

    def __init__(self, seed: int, path: Path) -> None:
        self.random = Random(seed)  # noqa: S311  chance, not secrecy
        self.at_seam: dict[str, Callable[[], object]] = {}
        super().__init__(self._visit, path)

    async def _visit(self, seam: str, signal: CancelSignal) -> None:
        if self.random.random() < 0.4:
            await self.pause(5)
        if seam in self.at_seam:
            self.at_seam.pop(seam)()
        if seam != "flush" and self.random.random() < 0.5:
            signal.check()

    async def pause(self, most: int = TURN) -> None:
        for _ in range(self.random.randrange(most)):
            await asyncio.sleep(0)


async def cancel_while_idle(race: Race) -> None:
    if race.random.random() < 0.5:
        race.prompt()
        await race.when_idle()
    for _ in range(race.random.randrange(3)):
        race.cancel(race.random.choice(CAUSES))
    race.prompt()


async def cancel_before_the_turn_begins(race: Race) -> None:
    for _ in range(race.random.randrange(1, 3)):
        race.prompt()
    await race.pause(2)
    race.cancel()
    if race.random.random() < 0.5:
        await race.pause(3)
        race.prompt()


async def replace_from_a_listener_of_running(race: Race) -> None:
    replaces = [True] * race.random.randrange(1, 3)

    def replace(status: str) -> None:
        if status == "running" and replaces:
            replaces.pop()
            race.cancel()
            race.prompt()

    race.agent.on_status(replace)
    race.prompt()
    await race.pause()
    race.prompt()


async def replace_from_a_listener_of_the_signal(race: Race) -> None:
    race.prompt()
    await race.pause()
    if race.agent.turn is not None:
        race.agent.turn.signal.on_abort(race.prompt)
    race.cancel()


async def cancel_again_and_again(race: Race) -> None:
    for _ in range(race.random.randrange(2, 6)):
        race.prompt()
        await race.pause(12)
        race.cancel(race.random.choice(CAUSES))
        if race.random.random() < 0.5:
            race.cancel(race.random.choice(CAUSES))
    race.prompt()


async def cancel_then_dispose(race: Race) -> None:
    race.prompt()
    await race.pause()
    race.prompt()
    race.cancel()
    await race.pause(6)
    await race.dispose()


async def dispose_then_cancel(race: Race) -> None:
    race.prompt()
    race.prompt()
    await race.pause()
    disposing = asyncio.create_task(race.dispose())
    await asyncio.sleep(0)
    await race.pause(6)
    race.cancel()
    await disposing
    assert race.agent.status == "disposed"


async def dispose_twice_at_once(race: Race) -> None:
    race.prompt()
    await race.pause()
    await asyncio.gather(race.dispose(), race.when_idle(), race.dispose())
    assert race.agent.status == "disposed"


async def cancel_around_the_natural_end(race: Race) -> None:
    race.prompt()
    await race.pause(race.random.choice((2, 2 * TURN, 2 * TURN)))
    race.cancel()
    await race.pause(3)
    race.prompt()


async def steer_around_the_end_of_the_turn(race: Race) -> None:
    race.prompt()
    for _ in range(race.random.randrange(1, 4)):
        await race.pause()
        race.steer()
    if race.random.random() < 0.5:
        race.prompt()


async def steer_and_cancel(race: Race) -> None:
    race.prompt()
    await race.pause()
    race.steer()
    await race.pause(6)
    race.cancel()
    await race.pause(6)
    race.steer()
    if race.random.random() < 0.5:
        race.prompt()


async def cancel_at_the_turn_stop(race: Race) -> None:
    race.at_seam["turn_stop"] = race.cancel
    first = race.prompt()
    assert (await first.outcome()).kind == "aborted"
    race.prompt()


async def act_from_inside_of_the_seams(race: Race) -> None:
    acts = [race.cancel, race.prompt, race.steer]
    for seam in race.random.sample([*SEAMS, "flush"], 4):
        race.at_seam[seam] = race.random.choice(acts)
    race.prompt()
    await race.pause()
    race.prompt()


#: What can become of the prompts of each race; of several outcomes more than one is seen, else it was no race.
RACES = {
    cancel_while_idle: {"completed"},
    cancel_before_the_turn_begins: {"aborted", "completed", "dropped"},
    replace_from_a_listener_of_running: {"completed", "dropped"},
    replace_from_a_listener_of_the_signal: {"aborted", "completed", "dropped"},
    cancel_again_and_again: {"aborted", "completed", "dropped"},
    cancel_then_dispose: {"aborted", "completed", "disposed", "dropped"},
    dispose_then_cancel: {"completed", "disposed", "dropped"},
    dispose_twice_at_once: {"completed", "disposed"},
    cancel_around_the_natural_end: {"aborted", "completed", "dropped"},
    steer_around_the_end_of_the_turn: {"completed"},
    steer_and_cancel: {"aborted", "completed", "dropped"},
    cancel_at_the_turn_stop: {"aborted", "completed"},
    act_from_inside_of_the_seams: {"aborted", "completed", "dropped"},
}


@pytest.mark.parametrize("run", RACES, ids=lambda run: run.__name__.replace("_", " "))
async def test_one_turn_at_once_a_balanced_log_and_no_lost_prompt_however_they_interleave(
    tmp_path: Path, run: Callable[[Race], Awaitable[None]]
):
    outcomes = set[str]()
    for seed in range(RACE_TIMES):
        race = Race(seed, tmp_path / f"{seed}.jsonl")
        try:
            await run(race)
            await race.when_idle()
            race.judge()
        except BaseException as error:
            error.add_note(f"seed {seed} of {run.__name__}")
            raise
        finally:
            await race.agent.dispose()
        outcomes |= {prompt._outcome.result().kind for prompt in race.prompts.values()}
    assert outcomes <= RACES[run]
    assert len(outcomes) == 1 if len(RACES[run]) == 1 else len(outcomes) > 1
