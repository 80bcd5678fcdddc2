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
        await self.add(f"{name}.png", content, _PNG)

    async def add(self, name: str, content: bytes, media_type: str) -> None:
        stem, ending = name.rsplit(".", 1)
        unique, number = name, 2
        while unique in self.names:
            unique, number = f"{stem}-{number}.{ending}", number + 1
        await self._on_artifact(unique, content, media_type)
        self.names.append(unique)
