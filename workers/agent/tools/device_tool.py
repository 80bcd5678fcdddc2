"""What the tools that use the device have in common: how they begin, and the ways in which they end."""

from abc import abstractmethod
from dataclasses import replace
from typing import Generic

from workers.agent.cancellation import TurnInterrupted
from workers.agent.tools.device_call import DeviceCall
from workers.agent.tools.failures import OBSERVE_FIRST, ToolFailed, with_stop
from workers.agent.tools.sight import Sight
from workers.agent.tools.tool import ArgumentsT, Tool, ToolOutcome, ToolRequest


class DeviceTool(Tool[ArgumentsT], Generic[ArgumentsT]):
    """A tool of one run's device.

    A device that is gone (`lease_lost`, `device_offline` and their kind) is a failed outcome with that code, like any
    other: what it means for the run is for the loop to decide.
    """

    def __init__(self, sight: Sight) -> None:
        self.sight = sight

    async def run(self, arguments: ArgumentsT, request: ToolRequest) -> ToolOutcome:
        call = DeviceCall(self.sight, request)
        try:
            call.check()
            outcome = await self.act(arguments, call) or _done(call)
        except ToolFailed as failed:
            outcome = call.outcome_of(failed)
        except TurnInterrupted:
            if not call.did:
                raise
            outcome = call.aborted()
        repeat_key = None if self.is_read_only else call.repeat_key(self.name, arguments.model_dump_json())
        return replace(outcome, text=call.redact(outcome.text), repeat_key=repeat_key)

    @abstractmethod
    async def act(self, arguments: ArgumentsT, call: DeviceCall) -> ToolOutcome | None:
        """Does what is asked. None: all of it was done, and what `call` kept tells it.

        Raises:
            TurnInterrupted, ToolFailed: as the call's own functions do; `run` knows what to make of them.
        """


def _done(call: DeviceCall) -> ToolOutcome:
    return ToolOutcome("done", f"{with_stop('done: ' + '; '.join(call.did))} {OBSERVE_FIRST}")
