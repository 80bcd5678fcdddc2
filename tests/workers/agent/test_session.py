"""The log of an agent: written as it happens, redacted, and read again as it was."""

import errno
import json
import math

import pytest

from tests.workers.agent.logs import assert_balanced, assert_replays
from tests.workers.agent.scripted import FinishTool, Hang, Patient, Touch, answer, call, scripted_agent
from workers.agent.cancellation import PARENT
from workers.agent.messages import AssistantMessage, Image, TextPart, ThinkingPart, ToolMessage, UserMessage
from workers.agent.session.events import (
    Aborted,
    Completed,
    MessageAdded,
    PrefixSet,
    Seed,
    SessionStart,
    StepEnd,
    StepStart,
    ToolStart,
    TurnEnd,
    TurnStart,
)
from workers.agent.session.reading import UnreadableSession, read_session
from workers.agent.session.replay import closing_events, messages_of, request_messages, without_open_calls
from workers.agent.session.session import LogUnwritable, Session
from workers.agent.system_prompt import SystemPrompt, words
from workers.agent.task_secrets import Secrets
from workers.agent.tools.tool import ToolOutcome

pytestmark = pytest.mark.anyio

START = '{"event":"session/start","version":1,"session_id":"s"}'


def written(tmp_path, *lines: str, end: str = "\n"):
    path = tmp_path / "written.jsonl"
    path.write_text("\n".join(lines) + end, encoding="utf-8")
    return path


def said(text: str = "", *calls, turn: int = 1) -> MessageAdded:
    return MessageAdded(turn=turn, step=1, message=answer(text, *calls).message)


def result(of, turn: int = 1) -> MessageAdded:
    return MessageAdded(
        turn=turn, step=1, message=ToolMessage(call_id=of.call_id, tool=of.tool, status="done", text="ok")
    )


async def test_a_log_read_from_disk_is_what_was_recorded_and_replays_what_the_model_was_told(tmp_path):
    patient, touch = Patient(), Touch()
    session = Session(tmp_path / "log.jsonl")
    hang = Hang("half")

    async def prefix(_agent, place, _value, _signal, _go_on):
        return (UserMessage(text=f"turn {place.turn}", source="loop"),) if place.turn != 2 else ()

    agent, model = scripted_agent(
        answer("a", call("touch"), call("finish")),
        hang,
        answer("", call("patient"), call("touch")),
        tools=[touch, patient, FinishTool()],
        session=session,
        system_prompt=SystemPrompt([words("You tap."), words(""), words(" And type. ")]),
    )
    agent.hooks.session_prefix.add(prefix)
    await agent.prompt("one\r\n\x85\u2028é").outcome()
    agent.prompt("two")
    await hang.reached.wait()
    agent.cancel()
    await agent.when_idle()
    agent.prompt("three")
    await patient.reached.wait()
    agent.cancel()
    await agent.when_idle()
    await agent.prompt("four").outcome()
    await agent.dispose()
    events = read_session(tmp_path / "log.jsonl")
    assert tuple(events) == session.events
    assert_balanced(events)
    assert_replays(events, model.requests, model.log_lengths)
    assert model.requests[0].system == "You tap.\n\nAnd type."
    assert model.requests[0].messages[0].text == "turn 1"
    assert model.requests[1].messages[0].text.startswith("one")
    assert [message.text for message in model.requests[-1].messages if message.role == "user"] == [
        "turn 4",
        "one\r\n\x85\u2028é",
        "two",
        "three",
        "four",
    ]


async def test_each_event_is_one_line_and_is_there_as_it_happens(tmp_path):
    path = tmp_path / "log.jsonl"
    hang = Hang()
    agent, _ = scripted_agent(hang, session=Session(path))
    agent.prompt("two\nlines")
    await hang.reached.wait()
    lines = path.read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines] == [
        "session/start",
        "turn/start",
        "message",
        "system",
        "step/start",
    ]
    await agent.dispose()


async def test_a_log_holds_nothing_of_who_cancelled_or_how(tmp_path):
    """No stack, no signal, no error, no cause."""
    for number, stop in enumerate(("user", "parent", "disposed", "broken")):
        path = tmp_path / f"{number}.jsonl"
        hang = Hang("some")

        async def fails(request, signal, on_delta, hang=hang):
            await hang(request, signal, on_delta)
            raise ConnectionResetError("a stack in user space")

        agent, _ = scripted_agent(fails if stop == "broken" else hang, session=Session(path))
        agent.prompt("go")
        await hang.reached.wait()
        if stop != "disposed":
            agent.cancel(PARENT if stop == "parent" else {"kind": "user"})
        await agent.dispose()
        *_, last = path.read_text().splitlines()
        assert json.loads(last) == {"event": "turn/end", "turn": 1, "end": {"kind": "aborted"}}
        text = path.read_text().replace('"role":"user"', "")
        for word in (
            "user",
            'parent"',
            "disposed",
            "Error",
            "Traceback",
            "signal",
            "cancel",
            "cause",
            "reason",
            "stack",
        ):
            assert word not in text


@pytest.mark.parametrize(
    "end",
    [
        {"kind": "aborted", "reason": "user"},
        {"kind": "aborted", "cause": {"kind": "user"}},
        {"kind": "aborted", "message": None},
        {"kind": "cancelled"},
        {"kind": "disposed"},
        {},
    ],
)
async def test_an_aborted_record_with_anything_more_is_refused(tmp_path, end):
    line = json.dumps({"event": "turn/end", "turn": 1, "end": end})
    with pytest.raises(UnreadableSession, match=r"written\.jsonl:2: "):
        read_session(written(tmp_path, START, line))


async def test_the_refusal_of_a_field_names_line_and_field(tmp_path):
    line = json.dumps({"event": "turn/end", "turn": 1, "end": {"kind": "aborted", "reason": "hunter2"}})
    with pytest.raises(UnreadableSession) as refused:
        read_session(written(tmp_path, START, line))
    assert str(refused.value) == "written.jsonl:2: turn/end.end.aborted.reason: Extra inputs are not permitted"


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        (["{"], "written.jsonl:1: the line: Invalid JSON"),
        ([""], "written.jsonl:1: the line: Invalid JSON"),
        (['{"event":"turn/start","turn":1}'], "written.jsonl:1: a log begins with session/start"),
        ([START, START], "written.jsonl:2: a second session/start"),
        ([START, '{"event":"turn/start","turn":1}', START], "written.jsonl:3: a second session/start"),
        ([START.replace("1", "2", 1)], "written.jsonl:1: session/start.version: "),
        ([START.replace('"version":1', '"version":0')], "written.jsonl:1: session/start.version: "),
        ([START.replace("}", ',"host":"x"}')], "written.jsonl:1: session/start.host: Extra inputs"),
        ([START, '{"event":"turn/start","turn":1,"at":3}'], "written.jsonl:2: turn/start.at: Extra inputs"),
        ([START, '{"event":"turn/begin","turn":1}'], "written.jsonl:2: the line: Input tag 'turn/begin'"),
        ([START, "", '{"event":"turn/start","turn":1}'], "written.jsonl:2: the line: Invalid JSON"),
        ([START, '["turn/start"]'], "written.jsonl:2: the line: "),
    ],
)
async def test_what_no_session_writes_is_refused_with_its_place(tmp_path, lines, wrong):
    with pytest.raises(UnreadableSession) as refused:
        read_session(written(tmp_path, *lines))
    assert str(refused.value).startswith(wrong)


async def test_an_empty_log_is_refused(tmp_path):
    with pytest.raises(UnreadableSession, match="begins with session/start"):
        read_session(written(tmp_path, end=""))


async def test_a_log_that_is_not_utf_8_is_refused(tmp_path):
    path = tmp_path / "written.jsonl"
    path.write_bytes(START.encode() + b'\n{"event":"\xff"}\n')
    with pytest.raises(UnreadableSession, match="is not UTF-8"):
        read_session(path)


@pytest.mark.parametrize("torn", ['{"event":"turn/st', '{"event":"turn/start","turn":1}', "{"])
async def test_a_torn_last_line_is_left_out(tmp_path, torn):
    events = read_session(written(tmp_path, START, torn, end=""))
    assert [event.event for event in events] == ["session/start"]


async def test_a_last_line_torn_in_the_middle_of_a_character_is_left_out(tmp_path):
    path = tmp_path / "written.jsonl"
    path.write_bytes(START.encode() + b"\n" + '{"event":"message","é'.encode()[:-1])
    assert [event.event for event in read_session(path)] == ["session/start"]


async def test_a_log_cut_anywhere_is_read_and_closed_to_a_balanced_one(tmp_path):
    path = tmp_path / "log.jsonl"
    patient = Patient()
    agent, _ = scripted_agent(
        answer("ä", call("touch"), call("touch")),
        answer("", call("patient"), call("touch")),
        tools=[Touch(), patient],
        session=Session(path),
    )
    agent.prompt("gö")
    await patient.reached.wait()
    await agent.dispose()
    content = path.read_bytes()
    first = content.index(b"\n") + 1
    cut = tmp_path / "cut.jsonl"
    for length in range(first, len(content) + 1, 7):
        cut.write_bytes(content[:length])
        events = read_session(cut)
        assert_balanced(events, is_over=False)
        assert_balanced([*events, *closing_events(events)])


async def test_a_log_cannot_be_begun_where_one_is(tmp_path):
    Session(tmp_path / "log.jsonl").close()
    with pytest.raises(FileExistsError):
        Session(tmp_path / "log.jsonl")


async def test_a_balanced_log_needs_no_closing():
    touch = call("touch")
    events = [
        TurnStart(turn=1),
        StepStart(turn=1, step=1),
        said("", touch),
        ToolStart(turn=1, step=1, call_id=touch.call_id),
        result(touch),
        StepEnd(turn=1, step=1, input_tokens=0, output_tokens=0),
        TurnEnd(turn=1, end=Completed()),
    ]
    assert closing_events(events) == []
    assert closing_events([]) == []


async def test_calls_left_open_say_whether_they_had_begun():
    first, second, third = call("touch"), call("touch"), call("touch")
    events = [
        TurnStart(turn=3),
        StepStart(turn=3, step=1),
        said("", first, second, third, turn=3),
        ToolStart(turn=3, step=1, call_id=first.call_id),
        result(first, turn=3),
        ToolStart(turn=3, step=1, call_id=second.call_id),
    ]
    *results, step_end, turn_end = closing_events(events)
    assert [(added.message.call_id, added.message.status, added.turn) for added in results] == [
        (second.call_id, "aborted", 3),
        (third.call_id, "aborted_before_dispatch", 3),
    ]
    assert step_end == StepEnd(turn=3, step=1, input_tokens=0, output_tokens=0)
    assert turn_end == TurnEnd(turn=3, end=Aborted())


async def test_an_open_call_is_not_taken_for_an_earlier_one_of_the_same_id():
    """Some providers begin to count anew in each answer."""
    same = call("touch")
    start = ToolStart(turn=1, step=1, call_id=same.call_id)
    events = [said("", same), start, result(same), said("", same, same), start, result(same)]
    (closing,) = closing_events(events)
    assert (closing.message.call_id, closing.message.status) == (same.call_id, "aborted_before_dispatch")


async def test_a_prefix_stands_before_the_history_and_only_in_its_turn():
    prefix = PrefixSet(turn=1, messages=(UserMessage(text="first of all"),))
    told = MessageAdded(turn=1, step=0, message=UserMessage(text="go"))
    events = [Seed(message=UserMessage(text="long ago")), TurnStart(turn=1), told, prefix]
    assert [message.text for message in request_messages(events)] == ["first of all", "long ago", "go"]
    assert [message.text for message in request_messages([*events, TurnStart(turn=2)])] == ["long ago", "go"]
    assert [message.text for message in messages_of(events)] == ["long ago", "go"]


async def test_a_fork_begins_with_the_history_of_the_other_up_to_its_open_calls(tmp_path):
    parent = Session(tmp_path / "parent.jsonl")
    done, open_call = call("touch"), call("spawn")
    for event in (TurnStart(turn=1), said("one", done), result(done), said("two", open_call)):
        parent.record(event)
    history = without_open_calls(parent.messages)
    assert [message.role for message in history] == ["assistant", "tool"]
    fork = Session(
        tmp_path / "fork.jsonl",
        history=history,
        forked_from=parent.session_id,
        parent_session_id=parent.session_id,
    )
    agent, model = scripted_agent(session=fork)
    await agent.prompt("on your own now").outcome()
    await agent.dispose()
    events = read_session(tmp_path / "fork.jsonl")
    assert events[0] == SessionStart(
        session_id=fork.session_id, forked_from=parent.session_id, parent_session_id=parent.session_id
    )
    assert (model.requests[0].messages[:2], fork.turns) == (history, 1)
    assert tuple(events) == fork.events
    assert_replays(events, model.requests, model.log_lengths)
    parent.close()


async def test_a_history_whose_calls_all_have_results_is_kept_whole():
    touch = call("touch")
    messages = messages_of([said("one", touch), result(touch), said("two")])
    assert without_open_calls(messages) == messages
    assert without_open_calls(()) == ()


SECRETS = Secrets({"PASSWORD": "hunter2", "PIN": "done", "ROLE": "user", "EVENT": "turn/end", "TOOL": "touch"})


async def test_a_secret_stands_nowhere_in_the_log_and_the_model_is_told_what_the_log_says(tmp_path):
    path = tmp_path / "log.jsonl"

    async def prefix(_agent, _place, _value, _signal, _go_on):
        return (UserMessage(text="prefix hunter2"),)

    touch = Touch(ToolOutcome("failed", "the screen shows hunter2", "not_found"))
    talk = AssistantMessage(
        parts=(
            ThinkingPart(text="I think hunter2", provider="p"),
            TextPart(text="I type hunter2"),
            call("touch"),
            call("finish", message="it is hunter2"),
        )
    )
    agent, model = scripted_agent(
        type(answer())(talk, answer().usage),
        answer("ok"),
        tools=[touch, FinishTool()],
        session=Session(path, redact=SECRETS.redacted),
        system_prompt=SystemPrompt([words("The password is hunter2.")]),
    )
    agent.hooks.session_prefix.add(prefix)
    shown: list[str] = []
    agent.on_event(lambda event: shown.append(repr(event)))
    await agent.prompt("use hunter2").outcome()
    await agent.prompt("again").outcome()
    await agent.dispose()
    assert "hunter2" not in path.read_text()
    assert "hunter2" not in "".join(shown)
    assert "hunter2" not in repr(model.requests)
    assert model.requests[0].system == "The password is [secret PASSWORD]."
    events = read_session(path)
    assert tuple(events) == agent.session.events
    assert_balanced(events)
    assert_replays(events, model.requests, model.log_lengths)


@pytest.mark.parametrize("name", ["code", "status", "kind", "tool", "source", "signature", "output", "text"])
async def test_a_secret_is_redacted_in_free_fields_whatever_they_are_called(tmp_path, name):
    session = Session(tmp_path / "log.jsonl", redact=SECRETS.redacted)
    inner = {name: "hunter2", "deep": [{name: {"hunter2": ("hunter2", 1)}}]}
    session.record(said("", call("touch", **inner)))
    session.record(TurnEnd(turn=1, end=Completed(finish={"status": "success", "message": "m", "output": inner})))
    session.close()
    assert "hunter2" not in (tmp_path / "log.jsonl").read_text()
    assert "hunter2" not in repr(session.events)


async def test_a_secret_that_reads_like_a_word_of_the_log_does_not_break_it(tmp_path):
    session = Session(tmp_path / "log.jsonl", redact=SECRETS.redacted)
    agent, model = scripted_agent(answer("", call("touch")), tools=[touch := Touch()], session=session)
    assert (await agent.prompt("the user is done").outcome()).kind == "completed"
    await agent.dispose()
    events = read_session(tmp_path / "log.jsonl")
    assert tuple(events) == session.events
    assert model.requests[0].messages[0].text == "the [secret ROLE] is [secret PIN]"
    assert [message.status for message in session.messages if isinstance(message, ToolMessage)] == ["done"]
    assert touch.times == 1
    assert_balanced(events)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (math.nan, None),
        (-math.inf, None),
        ((1, (2,)), [1, [2]]),
        (10**40, 10**40),
        ("\ud800!", "?!"),
        ({1: 2}, {"1": 2}),
    ],
)
async def test_what_json_cannot_hold_is_the_same_in_memory_as_on_disk(tmp_path, value, read):
    session = Session(tmp_path / "log.jsonl")
    session.record(said("", call("touch", value=value)))
    session.close()
    assert tuple(read_session(tmp_path / "log.jsonl")) == session.events
    assert session.messages[0].calls[0].arguments == {"value": read}


async def test_half_a_character_in_a_prompt_or_a_result_does_not_break_the_turn(tmp_path):
    touch = Touch(ToolOutcome("done", "half \udce9"))
    agent, model = scripted_agent(
        answer("\ud83d", call("touch", x="\ud83d")),
        answer("", call("touch")),
        tools=[touch],
        session=Session(tmp_path / "l"),
    )
    assert (await agent.prompt("\ud800 go").outcome()).kind == "completed"
    await agent.dispose()
    assert tuple(read_session(tmp_path / "l")) == agent.session.events
    assert_balanced(agent.session.events)
    assert model.requests[0].messages[0].text == "? go"


class FullDisk(Session):
    """A session whose disk is full after so many events."""

    def __init__(self, path, *, room: int) -> None:
        super().__init__(path)
        inner = self._file

        class File:
            def write(self, line: str) -> None:
                nonlocal room
                room -= 1
                if room < 0:
                    raise OSError(errno.ENOSPC, "No space left on device")
                inner.write(line)

            def flush(self) -> None:
                inner.flush()

            def fileno(self) -> int:
                return inner.fileno()

            def close(self) -> None:
                inner.close()
                raise OSError(errno.ENOSPC, "No space left on device")

        self._file = File()


@pytest.mark.parametrize("room", range(14))
async def test_a_log_that_cannot_be_written_fails_the_turn_by_that_name_and_the_agent_comes_to_rest(
    tmp_path, logged, room
):
    session = FullDisk(tmp_path / "log.jsonl", room=room)
    agent, _ = scripted_agent(answer("", call("touch")), tools=[Touch()], session=session)
    first, second = agent.prompt("go"), agent.prompt("and on")
    outcomes = [await first.outcome(), await second.outcome()]
    assert [(outcome.kind, outcome.code) for outcome in outcomes][-1] == ("failed", "log_unwritable")
    assert "No space left" in (outcomes[-1].message or "")
    await agent.dispose()
    assert agent.status == "disposed"
    assert tuple(read_session(tmp_path / "log.jsonl")) == session.events
    assert_balanced([*session.events, *closing_events(session.events)])
    assert {entry["event"] for entry in logged} == {"agent.log_unwritable"}


async def test_a_turn_whose_log_does_not_reach_the_disk_has_failed(tmp_path, logged):
    session = Session(tmp_path / "log.jsonl")
    file = session._file

    class NoDisk:
        write, flush, close = file.write, file.flush, file.close

        def fileno(self) -> int:
            raise OSError(errno.EIO, "Input/output error")

    session._file = NoDisk()
    agent, _ = scripted_agent(session=session)
    outcome = await agent.prompt("go").outcome()
    assert (outcome.kind, outcome.code) == ("failed", "log_unwritable")
    with pytest.raises(LogUnwritable):
        session.record(TurnStart(turn=2))
    await agent.dispose()


async def test_a_picture_is_written_once_and_named_by_its_content(tmp_path):
    session = Session(tmp_path / "log.jsonl")
    first = await session.keep_image(b"picture")
    second = await session.keep_image(b"picture", "image/jpeg")
    session.close()
    assert first.sha256 == second.sha256
    assert first == Image(sha256=first.sha256, media_type="image/png")
    (kept,) = (tmp_path / "log.images").iterdir()
    assert kept.read_bytes() == b"picture"


async def test_a_session_in_memory_needs_no_disk():
    session = Session()
    await session.keep_image(b"picture")
    await session.flush()
    session.close()
    assert (session.path, session.images_folder) == (None, None)


async def test_the_session_of_a_child_is_logged_beside_its_parents_and_redacted_the_same(tmp_path):
    parent = Session(tmp_path / "goal.jsonl", redact=SECRETS.redacted)
    spawned = parent.new_child()
    forked = parent.new_child(history=[UserMessage(text="hunter2")], forked_from=parent.session_id)
    grandchild = forked.new_child()
    for session in (parent, spawned, forked, grandchild):
        session.close()
    assert [session.path.name for session in (spawned, forked, grandchild)] == [
        "goal-1.jsonl",
        "goal-2.jsonl",
        "goal-2-1.jsonl",
    ]
    start, seed = read_session(forked.path)
    assert (start.parent_session_id, start.forked_from) == (parent.session_id, parent.session_id)
    assert seed == Seed(message=UserMessage(text="[secret PASSWORD]"))
    assert read_session(grandchild.path)[0].parent_session_id == forked.session_id


async def test_the_session_of_a_child_of_a_session_in_memory_is_in_memory():
    assert Session().new_child().path is None
