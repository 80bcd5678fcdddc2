"""How a call ends that was not done, in words that the model can act on."""

from workers.agent.tools.tool import ToolCode
from workers.device.outcome import ErrorCode

OBSERVE_FIRST = "Observe before you use an index again."
MAY_HAVE_HAPPENED = "It may have happened; observe before you decide. It was not repeated."

_GONE = "The device cannot be reached; nothing more can be done here."

#: What to try next, for every code of a device, and for those of our own.
ADVICE: dict[str, str] = {
    ErrorCode.DEVICE_OFFLINE: _GONE,
    ErrorCode.DEVICE_UNAUTHORIZED: _GONE,
    ErrorCode.TRANSPORT_LOST: _GONE,
    ErrorCode.LEASE_LOST: "The device no longer belongs to this task; nothing more can be done here.",
    ErrorCode.TIMEOUT: "Observe to see how things stand.",
    ErrorCode.NOT_FOUND: "Observe to see what is there.",
    ErrorCode.OUT_OF_BOUNDS: "Choose a point inside the screen; the first line of an observation has its size.",
    ErrorCode.APP_NOT_INSTALLED: "Check the name of the package; if the app is missing, the goal may be infeasible.",
    ErrorCode.APP_NOT_LAUNCHABLE: "Observe to see what is in front; it may have to be reached in another way.",
    ErrorCode.INVALID_URL: "Give a whole URL, such as https://example.com/path.",
    ErrorCode.INPUT_NOT_PERMITTED: "No touch and no key will work on this device; do not try again.",
    ErrorCode.TEXT_UNSUPPORTED: "Type printable ASCII only; for a new line press the key enter.",
    ErrorCode.TREE_UNAVAILABLE: "This is not an empty screen. Observe again; a screenshot and coordinates may help.",
    ErrorCode.SCREENSHOT_UNAVAILABLE: "Observe without a screenshot.",
    ErrorCode.COMMAND_FAILED: "Observe, and try another way.",
    ToolCode.STALE_OBSERVATION: "Observe, and use the indices of that observation.",
    ToolCode.NO_SUCH_ELEMENT: "Observe, scroll, or wait_for it.",
    ToolCode.AMBIGUOUS: "Observe and choose one by its index, or give text and id.",
    ToolCode.NOT_APPLIED: "Observe the field, and correct what it holds if that is wrong.",
    ToolCode.UNKNOWN_SECRET: "Use one of the names that this task has.",
}


class ToolFailed(Exception):
    """This call ends here as failed; code and text go to the model."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


class OutcomeUnknown(ToolFailed):
    """Nobody knows whether the last action happened."""


def words_of(code: str, text: str) -> str:
    """`failed (code): text. What to try next.`"""
    return f"{with_stop(f'failed ({code}): {text}')} {ADVICE.get(code, '')}".rstrip()


def with_stop(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
