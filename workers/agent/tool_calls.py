"""The tool calls of one answer: asked for, approved, run, and each with a result in the log.

    call ─► known? arguments right? ─► approval ─► tool/start in the log ─► run ─► result in the log
                   │ no                  │ no                                │ raises
                   ▼                     ▼                                   ▼
              failed, with why        refused                  aborted, or a defect that ends the turn

Whatever happens, no call is left without a result: those that never ran are `aborted_before_dispatch`, and those that
the cancel met while they ran say what is known of them.
"""

import asyncio
from typing import TYPE_CHECKING

import structlog
from pydantic import ValidationError

from corral.traces.spans import span
from workers.agent.cancellation import TurnInterrupted
from workers.agent.hooks import Approval
from workers.agent.messages import Image, ToolCall, ToolMessage
from workers.agent.place import Place
from workers.agent.session import events
from workers.agent.session.replay import NEVER_RAN
from workers.agent.session.session import LogUnwritable
from workers.agent.tools.tool import AnyTool, Finish, ToolCode, ToolOutcome, ToolRequest
from workers.device.outcome import ENDING_CODES, ErrorCode

if TYPE_CHECKING:
    from workers.agent.turn import Turn

log = structlog.get_logger()

_NOT_DISPATCHED = ToolOutcome("aborted_before_dispatch", NEVER_RAN, ToolCode.ABORTED_BEFORE_DISPATCH)
_GRANTED = Approval(is_granted=True)
_AFTER_THE_FINISH = ToolOutcome("refused", "Not run: an earlier call had finished the goal.", ToolCode.TURN_ENDED)
_CUT_SHORT = ToolOutcome("aborted", "The turn was cancelled while this call ran; it did nothing.", ToolCode.ABORTED)
_CUT_BY_ERROR = ToolOutcome(
    "aborted", "The turn was cancelled while this call ran; what of it happened is not known.", ToolCode.ABORTED
)
_DEFECT = ToolOutcome("failed", "This tool is broken; what of it happened is not known.", ToolCode.TOOL_DEFECT)


class DeviceLost(Exception):
    """The device, or the right to touch it, is gone: no answer of a model can help."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class ToolCalls:
    """Those of one step. Made before the answer, so that a step that breaks off can give its calls their results."""

    def __init__(self, turn: "Turn", place: Place) -> None:
        self._turn = turn
        self._agent = turn.agent
        self._signal = turn.signal
        self._place = place
        self._defect: Exception | None = None
        #: What a call of this step has claimed about the goal.
        self.finish: Finish | None = None

    async def run_all(self, calls: tuple[ToolCall, ...]) -> tuple[ToolMessage, ...]:
        """Runs them one after the other: each may depend on what the one before did to the screen.

        Raises:
            TurnInterrupted, DeviceLost, Stuck: the turn ends; every call has its result in the log.
        """
        open_calls = list(calls)
        results: list[ToolMessage] = []
        try:
            while open_calls and not self._signal.is_aborted:
                outcome = await self._outcome(open_calls[0])
                results.append(await self._keep(open_calls.pop(0), outcome))
                self._judge(outcome)
                # Calls that are refused or only remember never wait, and other runs of this host have leases to renew.
                await asyncio.sleep(0)
        finally:
            await self.drop_all(tuple(open_calls))
        self._signal.check()
        return tuple(results)

    def _judge(self, outcome: ToolOutcome) -> None:
        """Raises what ends the turn because of this outcome."""
        if self._defect is not None:
            raise self._defect
        if outcome.code in ENDING_CODES:
            raise DeviceLost(ErrorCode(outcome.code), outcome.text)
        self._turn.repeats.check()
        self.finish = self.finish or outcome.finish

    async def drop_all(self, calls: tuple[ToolCall, ...]) -> None:
        """Gives calls that are not going to run their results."""
        for call in calls:
            await self._keep(call, _NOT_DISPATCHED)

    async def _outcome(self, call: ToolCall) -> ToolOutcome:
        if self.finish is not None:
            return _AFTER_THE_FINISH
        tool = self._agent.tools.get(call.tool)
        if tool is None:
            known = ", ".join(sorted(self._agent.tools))
            return ToolOutcome("failed", f"There is no tool {call.tool!r}. There are: {known}.", ToolCode.UNKNOWN_TOOL)
        try:
            tool.arguments.model_validate(call.arguments)
        except ValidationError as error:
            return ToolOutcome("failed", _wrong_arguments(call, error), ToolCode.INVALID_ARGUMENTS)
        return await self._refusal(tool, call) or await self._run_traced(tool, call)

    async def _refusal(self, tool: AnyTool, call: ToolCall) -> ToolOutcome | None:
        """Why a call that could run must not."""
        try:
            approval = await self._approval(tool, call)
        except TurnInterrupted:
            return _NOT_DISPATCHED
        if self._signal.is_aborted:
            return _NOT_DISPATCHED
        if approval.is_granted:
            return None
        return ToolOutcome("refused", f"Not run: {approval.reason or 'refused'}.", ToolCode.POLICY_DENIED)

    async def _approval(self, tool: AnyTool, call: ToolCall) -> Approval:
        if tool.is_read_only:
            return _GRANTED

        async def granted(_call: ToolCall) -> Approval:
            return _GRANTED

        return await self._agent.hooks.approval.run(self._agent, self._place, call, self._signal, granted)

    async def _run_traced(self, tool: AnyTool, call: ToolCall) -> ToolOutcome:
        with span(f"tool {tool.name}", agent=self._agent.name, step=self._place.step) as traced:
            outcome = await self._run(tool, call)
            traced.set(outcome=outcome.status)
            if outcome.status == "failed":
                traced.fail(outcome.code)
            return outcome

    async def _run(self, tool: AnyTool, call: ToolCall) -> ToolOutcome:
        has_begun = False
        brought: ToolOutcome | None = None

        async def run(call: ToolCall) -> ToolOutcome:
            nonlocal has_begun, brought
            arguments = tool.arguments.model_validate(call.arguments)
            place = self._place
            self._agent.record(events.ToolStart(turn=place.turn, step=place.step, call_id=call.call_id))
            has_begun = True
            brought = await tool.run(arguments, self._request(call))
            return brought

        try:
            return await self._agent.hooks.tool.run(self._agent, self._place, call, self._signal, run)
        except TurnInterrupted:
            return brought or (_CUT_SHORT if has_begun else _NOT_DISPATCHED)
        except Exception as error:
            if self._signal.is_aborted:
                # Most likely it is our stop that made it fail; if not, this line is all that is ever seen of it.
                log.warning("agent.tool_failed_while_interrupted", tool=call.tool, exc_info=error)
                return brought or (_CUT_BY_ERROR if has_begun else _NOT_DISPATCHED)
            # Raised when it is in the log as the result of the call.
            self._defect = error
            return brought or _DEFECT

    def _request(self, call: ToolCall) -> ToolRequest:
        return ToolRequest(self._agent, self._place, call.call_id, self._signal, self._turn.budget)

    async def _keep(self, call: ToolCall, outcome: ToolOutcome) -> ToolMessage:
        """Records the result of a call."""
        images = await self._kept_images(outcome)
        text = outcome.text
        if outcome.repeat_key is not None:
            self._turn.repeats.add(outcome.repeat_key)
            text = f"{text}\n{self._turn.repeats.hint or ''}".rstrip()
        message = ToolMessage(
            call_id=call.call_id,
            tool=call.tool,
            status=outcome.status,
            text=text,
            code=outcome.code,
            images=images,
        )
        self._agent.record(events.MessageAdded(turn=self._place.turn, step=self._place.step, message=message))
        return message

    async def _kept_images(self, outcome: ToolOutcome) -> tuple[Image, ...]:
        try:
            return tuple([await self._agent.session.keep_image(content) for content in outcome.images.values()])
        except LogUnwritable as trouble:
            # The turn ends of it, and what the call did is in the log before that.
            self._defect = self._defect or trouble
            return ()


def _wrong_arguments(call: ToolCall, error: ValidationError) -> str:
    problems = [
        f"{'.'.join(str(part) for part in problem['loc']) or 'the arguments'}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_input=False)
    ]
    return f"{call.tool} was not run, its arguments are wrong: {'; '.join(problems)}."
