"""What a run hands out: screenshots, each under a name of its own."""

from collections.abc import Awaitable, Callable

OnArtifact = Callable[[str, bytes, str], Awaitable[None]]

_PNG = "image/png"


class Artifacts:
    """Names are made different by a number: `home.png`, `home-2.png`."""

    def __init__(self, on_artifact: OnArtifact) -> None:
        self._on_artifact = on_artifact
        self.names: list[str] = []

    async def add_png(self, name: str, content: bytes) -> None:
        """`name` is without ending."""
        unique, number = f"{name}.png", 2
        while unique in self.names:
            unique, number = f"{name}-{number}.png", number + 1
        await self._on_artifact(unique, content, _PNG)
        self.names.append(unique)
