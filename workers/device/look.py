"""Looking at the screen: its tree and whether the keyboard is up, in one command."""

import re
import secrets
import time
from dataclasses import dataclass

from workers.device.command_line import CommandLine, command, in_sequence, while_successful
from workers.device.deadline import Deadline
from workers.device.observation import Node, Observation, TreeMissing
from workers.device.outcome import ErrorCode, Failed
from workers.device.screen import Screen, ScreenSize
from workers.device.shell import Shell
from workers.device.tree import MAX_TREE_BYTES, Tree, TreeUnreadable, read_tree
from workers.device.verdict import short

#: A dump waits for the screen to be still, and animations keep it from it: tried again until this much has passed.
DUMP_BUDGET_SECONDS = 20.0
MAX_DUMPS = 4
_PAUSE_SECONDS = 0.3
_DUMP_DEADLINE_SECONDS = 15.0

#: As many as one command line can remove; more lost answers in one run mean that nothing of it works.
_LEFT_PATHS = 50

_END_OF_DUMP = "corral-end-of-dump"
_KEYBOARD_SHOWN = re.compile(r"\bmInputShown=true\b")


@dataclass(frozen=True, slots=True)
class _Look:
    tree: Tree | TreeMissing
    is_keyboard_shown: bool


class Eyes:
    """Each dump has a file of its own: one that was given up may still be writing, and would spoil the next."""

    def __init__(self, shell: Shell, screen: Screen) -> None:
        self._shell = shell
        self._screen = screen
        self._name = f"/data/local/tmp/corral-{secrets.token_hex(8)}"
        self._dumps = 0
        self._left_paths: list[str] = []

    def observe(self) -> Observation:
        look = self._look_until_there_is_a_tree()
        if isinstance(look.tree, TreeMissing):
            return _observation(look.tree, self._screen.last_size, look)
        self._screen.turned(look.tree.rotation)
        size = self._screen.size()
        if isinstance(size, Failed):
            return _observation(TreeMissing(size.code, size.message), self._screen.last_size, look)
        return _observation(look.tree.root, size, look)

    def forget(self) -> None:
        """Removes the files that dumps may have left behind when their answers were lost."""
        if self._left_paths:
            self._shell.ask(command("rm", "-f", *self._left_paths))

    def _look_until_there_is_a_tree(self) -> _Look:
        budget = Deadline(DUMP_BUDGET_SECONDS)
        look = self._look()
        for _ in range(MAX_DUMPS - 1):
            if isinstance(look.tree, Tree) or look.tree.code is not ErrorCode.TREE_UNAVAILABLE or budget.is_over:
                break
            time.sleep(_PAUSE_SECONDS)
            look = self._look()
        return look

    def _look(self) -> _Look:
        self._dumps += 1
        path = f"{self._name}-{self._dumps}.xml"
        answer = self._shell.ask(
            _line(path), deadline_seconds=_DUMP_DEADLINE_SECONDS, max_output_bytes=2 * MAX_TREE_BYTES
        )
        if isinstance(answer, Failed):
            self._left_paths = [*self._left_paths, path][-_LEFT_PATHS:]
            return _Look(TreeMissing(answer.code, answer.message), is_keyboard_shown=False)
        # The last one: the screen may show this very line.
        dump, _, keyboard = answer.stdout.rpartition(_END_OF_DUMP.encode())
        is_shown = is_keyboard_shown(keyboard.decode(errors="replace"))
        try:
            return _Look(read_tree(dump), is_keyboard_shown=is_shown)
        except TreeUnreadable as unreadable:
            said = short((dump[:1000] + answer.stderr[:1000]).decode(errors="replace"))
            message = f"{unreadable}; the phone said: {said or 'nothing'}"
            return _Look(TreeMissing(ErrorCode.TREE_UNAVAILABLE, message), is_keyboard_shown=is_shown)


def _line(path: str) -> CommandLine:
    return in_sequence(
        [
            while_successful([command("uiautomator", "dump", path), command("cat", path)]),
            command("rm", "-f", path),
            command("echo", _END_OF_DUMP),
            command("dumpsys", "input_method"),
        ]
    )


def _observation(tree: Node | TreeMissing, size: ScreenSize, look: _Look) -> Observation:
    return Observation(
        observation_id=secrets.token_hex(8),
        width_px=size.width_px,
        height_px=size.height_px,
        tree=tree,
        is_keyboard_shown=look.is_keyboard_shown,
    )


def is_keyboard_shown(dumpsys_input_method: str) -> bool:
    return _KEYBOARD_SHOWN.search(dumpsys_input_method) is not None
