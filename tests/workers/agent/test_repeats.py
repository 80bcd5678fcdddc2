"""An agent that does the same thing over and over is told, and then stopped."""

import pytest

from tests.workers.agent.logs import assert_balanced
from tests.workers.agent.scripted import Touch, answer, call, scripted_agent
from workers.agent.messages import ToolMessage
from workers.agent.repeats import END_AFTER, HINT_AFTER, Repeats, Stuck
from workers.agent.session.events import EndedStuck, TurnEnd
from workers.agent.tools.tool import ToolOutcome

pytestmark = pytest.mark.anyio

SAME = ToolOutcome("done", "tapped", repeat_key="tap 1,1 on screen A")


class Varied(Touch):
    """Does one thing after the other; each is named by its key."""

    def __init__(self, *keys: str | None) -> None:
        super().__init__()
        self._keys = keys

    async def run(self, _arguments, _request):
        key = self._keys[self.times]
        self.times += 1
        return ToolOutcome("done", "did", repeat_key=key)


async def test_the_same_action_on_the_same_screen_is_hinted_at_after_three_and_ends_the_turn_after_five():
    touch = Touch(SAME)
    agent, model = scripted_agent(*[answer("", call("touch")) for _ in range(10)], tools=[touch])
    outcome = await agent.prompt("go").outcome()
    assert (outcome.kind, outcome.code, touch.times, len(model.requests)) == ("stuck", "stuck", END_AFTER, END_AFTER)
    told = [message.text for message in agent.session.messages if isinstance(message, ToolMessage)]
    assert [("Do something else" in text) for text in told] == [False] * (HINT_AFTER - 1) + [True] * 3
    (end,) = [event.end for event in agent.session.events if isinstance(event, TurnEnd)]
    assert end == EndedStuck(message="the same action was done 5 times in a row on the same screen")
    assert_balanced(agent.session.events)


async def test_the_repeats_of_one_answer_count_and_what_follows_them_does_not_run():
    touch = Touch(SAME)
    agent, _ = scripted_agent(answer("", *[call("touch") for _ in range(7)]), tools=[touch])
    assert (await agent.prompt("go").outcome()).kind == "stuck"
    statuses = [message.status for message in agent.session.messages if isinstance(message, ToolMessage)]
    assert statuses == ["done"] * 5 + ["aborted_before_dispatch"] * 2
    assert_balanced(agent.session.events)


async def test_something_else_in_between_begins_the_count_anew():
    keys = ["a", "a", "a", "b", "a", "a", "a", "a", "b"]
    agent, _ = scripted_agent(*[answer("", call("touch")) for _ in keys], tools=[Varied(*keys)])
    assert (await agent.prompt("go").outcome()).kind == "completed"


async def test_looking_in_between_does_not_make_it_something_else():
    keys = ["a", None] * 5
    agent, _ = scripted_agent(*[answer("", call("touch")) for _ in keys], tools=[Varied(*keys)])
    assert (await agent.prompt("go").outcome()).kind == "stuck"


async def test_each_turn_counts_for_itself():
    agent, _ = scripted_agent(
        *[answer("", call("touch")) if number % 5 < 4 else answer("ok") for number in range(10)], tools=[Touch(SAME)]
    )
    assert [(await agent.prompt("go").outcome()).kind for _ in range(2)] == ["completed", "completed"]


async def test_the_count_says_when_it_is_time():
    repeats = Repeats()
    assert repeats.hint is None
    for times in range(1, END_AFTER):
        repeats.add("a")
        repeats.check()
        assert (repeats.hint is not None) == (times >= HINT_AFTER)
    repeats.add("a")
    with pytest.raises(Stuck):
        repeats.check()
