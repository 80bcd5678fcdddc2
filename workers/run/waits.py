"""Steps that only look and wait: all of them end as soon as the run is to stop."""

from corral.flow.commands.checks import ExtendedWaitUntil
from corral.flow.condition import Condition
from workers.clock import boot_seconds
from workers.device.observation import Node
from workers.run.failure import StepFailed
from workers.run.screen import Screen


async def wait_extended(command: ExtendedWaitUntil, screen: Screen) -> None:
    condition, times = command.condition, screen.times
    given = None if command.timeout_ms is None else command.timeout_ms / 1000
    end = None if given is None else boot_seconds() + given
    if condition.visible is not None:
        await screen.find(condition.visible, seconds=times.element_seconds if given is None else given)
    if condition.not_visible is not None:
        left = times.optional_seconds if end is None else max(0.0, end - boot_seconds())
        await screen.wait_until_gone(condition.not_visible, seconds=left)


async def check_condition(condition: Condition, screen: Screen) -> bool:
    """Whether `condition` comes to hold within the time that optional look-ups have.

    Raises `StepFailed` if the device failed: nobody knows then.
    """
    return await unmet(condition, screen) is None


async def unmet(condition: Condition, screen: Screen) -> str | None:
    """The same; what is amiss with the screen, or None where the condition holds."""
    seconds = screen.times.optional_seconds
    try:
        if condition.visible is not None:
            await screen.find(condition.visible, seconds=seconds)
        if condition.not_visible is not None:
            await screen.wait_until_gone(condition.not_visible, seconds=seconds)
    except StepFailed as failed:
        if not failed.is_not_seen:
            raise
        return str(failed)
    return None


async def wait_for_still_screen(screen: Screen, *, seconds: float) -> None:
    """Until two looks in a row show the same, or the time is up; that is no failure."""
    end = boot_seconds() + seconds
    before = await screen.look()
    while (left := end - boot_seconds()) > 0:
        await screen.stop.wait(min(left, screen.times.poll_seconds))
        after = await screen.look()
        if isinstance(after.tree, Node) and after.tree == before.tree:
            return
        before = after
