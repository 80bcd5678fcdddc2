"""Keys and the keyboard on the screen."""

import re
import time

from workers.device.command_line import command
from workers.device.deadline import Deadline
from workers.device.look import is_keyboard_shown
from workers.device.outcome import Done, ErrorCode, Failed, Outcome
from workers.device.shell import Shell
from workers.device.verdict import outcome_of, short

#: One command deletes this many characters; its line stays below 1 KB.
_KEYS_PER_COMMAND = 250
MAX_ERASED_CHARACTERS = 10_000
_ERASE_DEADLINE_SECONDS = 30.0
_DELETE, _BACK = "67", "4"

#: The keyboard slides out for a third of a second.
_HIDE_DEADLINE_SECONDS = 2.0
_HIDE_POLL_SECONDS = 0.1

_KEY = re.compile(r"KEYCODE_[A-Z0-9_]+|[0-9]{1,3}")


def press_key(shell: Shell, key: str) -> Outcome:
    if not _KEY.fullmatch(key):
        return Failed(ErrorCode.COMMAND_FAILED, f"{short(key)!r} is no key; keys are named like KEYCODE_BACK")
    return outcome_of(shell.run(command("input", "keyevent", key), changes_device=True))


def erase_text(shell: Shell, characters: int) -> Outcome:
    """A failure says how many characters had been deleted before."""
    if not 0 <= characters <= MAX_ERASED_CHARACTERS:
        message = f"{characters} characters cannot be erased; 0 to {MAX_ERASED_CHARACTERS} can"
        return Failed(ErrorCode.COMMAND_FAILED, message)
    for erased in range(0, characters, _KEYS_PER_COMMAND):
        keys = [_DELETE] * min(_KEYS_PER_COMMAND, characters - erased)
        answer = shell.run(
            command("input", "keyevent", *keys), changes_device=True, deadline_seconds=_ERASE_DEADLINE_SECONDS
        )
        outcome = outcome_of(answer)
        if not isinstance(outcome, Done):
            return type(outcome)(outcome.code, f"{outcome.message} (after {erased} of {characters} had been erased)")
    return Done()


def hide_keyboard(shell: Shell) -> Outcome:
    """Presses BACK, but only while the keyboard is up: BACK without one would leave the screen."""
    shown = _is_shown(shell)
    if shown is False:
        return Done("the keyboard was not shown")
    if isinstance(shown, Failed):
        return shown
    pressed = press_key(shell, _BACK)
    return _wait_until_hidden(shell) if isinstance(pressed, Done) else pressed


def _wait_until_hidden(shell: Shell) -> Outcome:
    deadline = Deadline(_HIDE_DEADLINE_SECONDS)
    while True:
        shown = _is_shown(shell)
        if shown is False:
            return Done()
        if isinstance(shown, Failed):
            return shown
        if deadline.is_over:
            return Failed(ErrorCode.COMMAND_FAILED, "the keyboard is still shown after BACK was pressed")
        time.sleep(_HIDE_POLL_SECONDS)


def _is_shown(shell: Shell) -> bool | Failed:
    answer = shell.ask(command("dumpsys", "input_method"))
    return answer if isinstance(answer, Failed) else is_keyboard_shown(answer.text)
