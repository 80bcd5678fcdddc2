"""When a bridge that is alive and does nothing is ended."""

import pytest

from control.flower.watchdog import HANGING_SECONDS, SILENCE_SECONDS, Watchdog


class Scene:
    def __init__(self) -> None:
        self.now = self.heard_at = self.worked_at = 100.0
        self.redis_answers = True
        self.ended: list[int] = []
        self.watchdog = Watchdog(
            heard_at=lambda: self.heard_at,
            worked_at=lambda: self.worked_at,
            redis_answers=lambda: self.redis_answers,
            clock=lambda: self.now,
            end=self.ended.append,
        )

    def after(self, seconds: float) -> list[int]:
        self.now += seconds
        self.watchdog.look()
        return self.ended


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_deaf_listener_ends_the_process(scene: Scene):
    assert scene.after(SILENCE_SECONDS - 1) == []
    assert scene.after(2) == [1]


def test_while_redis_is_away_there_is_nothing_to_hear(scene: Scene):
    scene.redis_answers = False
    assert scene.after(SILENCE_SECONDS + 1) == []
    scene.redis_answers = True
    assert scene.after(SILENCE_SECONDS - 1) == []
    assert scene.after(2) == [1]


def test_a_loop_that_hangs_ends_the_process(scene: Scene):
    scene.now += HANGING_SECONDS
    scene.heard_at = scene.now
    assert scene.after(1) == [1]
