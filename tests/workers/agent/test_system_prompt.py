"""The system prompt, put together from its sections."""

import pytest

from tests.workers.agent.scripted import scripted_agent
from workers.agent.cancellation import USER, TurnCancellation, TurnInterrupted
from workers.agent.system_prompt import AssembleContext, SystemPrompt, words

pytestmark = pytest.mark.anyio


async def test_sections_stand_in_their_order_and_empty_ones_are_left_out():
    agent, _ = scripted_agent(name="Ada")

    async def name(context: AssembleContext) -> str:
        return f"You are {context.agent.name}.\n"

    prompt = SystemPrompt([name, words(" "), words("You tap.")])
    assert await prompt.assemble(AssembleContext(agent)) == "You are Ada.\n\nYou tap."
    assert await SystemPrompt().assemble(AssembleContext(agent)) == ""


async def test_no_section_is_asked_once_the_signal_has_fired():
    agent, _ = scripted_agent()
    cancellation = TurnCancellation()

    async def cancels(_context: AssembleContext) -> str:
        cancellation.abort(USER)
        return "the last words"

    async def never(_context: AssembleContext) -> str:
        raise AssertionError("asked after the signal had fired")

    with pytest.raises(TurnInterrupted):
        await SystemPrompt([cancels, never]).assemble(AssembleContext(agent, cancellation.signal))


async def test_the_prompt_is_assembled_anew_for_each_turn_and_once_in_it():
    times = 0

    async def counts(_context: AssembleContext) -> str:
        nonlocal times
        times += 1
        return f"turn {times}"

    agent, model = scripted_agent(system_prompt=SystemPrompt([counts]))
    await agent.prompt("one").outcome()
    await agent.prompt("two").outcome()
    assert [request.system for request in model.requests] == ["turn 1", "turn 2"]
