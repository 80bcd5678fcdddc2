"""What is told of an agent whose session hides something."""

import pytest

from tests.workers.agent.scripted import answer, scripted_agent
from workers.agent.model.interface import AnswerDelta, ModelErrorCode, ModelFailed
from workers.agent.session.session import Session
from workers.agent.task_secrets import Secrets

pytestmark = pytest.mark.anyio

SECRETS = Secrets({"PIN": "90210"})


async def says_the_pin(_request, _signal, on_delta):
    for piece in ("It is 90", "210."):
        on_delta(AnswerDelta(text=piece))
    return answer("It is 90210.")


async def fails_with_the_pin(_request, _signal, _on_delta):
    raise ModelFailed(ModelErrorCode.REFUSED, "90210 is not to be said")


@pytest.mark.parametrize(
    ("session", "heard"),
    [(None, ["It is 90", "210."]), (Session(redact=SECRETS.redacted), [])],
    ids=["plain", "redacted"],
)
async def test_an_answer_is_told_in_pieces_only_where_nothing_is_redacted(session, heard):
    agent, _ = scripted_agent(says_the_pin, session=session)
    pieces = []
    agent.on_event(lambda event: pieces.append(event.text) if isinstance(event, AnswerDelta) else None)
    await agent.prompt("Say it.").outcome()
    await agent.dispose()
    assert pieces == heard


async def test_what_is_said_of_a_turn_is_redacted_as_its_log_is():
    agent, _ = scripted_agent(says_the_pin, fails_with_the_pin, session=Session(redact=SECRETS.redacted))
    told = [await agent.prompt(text).outcome() for text in ("Say it.", "Again.")]
    await agent.dispose()
    assert told[0].text == "It is [secret PIN]."
    assert told[1].message == "[secret PIN] is not to be said"
