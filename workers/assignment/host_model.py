"""The one model of a host: opened when the first goal comes, shared by all, closed with the host."""

import asyncio
from typing import TYPE_CHECKING

from workers.agent.model.interface import AgentModel
from workers.agent.model.providers import ModelAddress, ModelNotConfigured

if TYPE_CHECKING:
    from workers.agent.model.adapter import PydanticAIModel


class HostModel:
    """`address` is None on a host that has no model: it still runs goals that bring a script."""

    def __init__(self, address: ModelAddress | None = None, *, takes_images: bool | None = None) -> None:
        self._address = address
        self._takes_images = takes_images
        self._opening = asyncio.Lock()
        self._model: PydanticAIModel | None = None

    async def opened(self, name: str | None) -> AgentModel:
        """The model. Raises `ModelNotConfigured` where there is none, or one of another name is asked for."""
        if self._address is None:
            raise ModelNotConfigured("set CORRAL_HOST_AGENT_MODEL")
        if name not in (None, self._address.name):
            raise ModelNotConfigured(f"the goal wants {name}, and this host has {self._address.name}")
        async with self._opening:
            if self._model is None:
                # In a thread: the libraries of the providers take seconds to import, and leases are renewed meanwhile.
                self._model = await asyncio.to_thread(_open, self._address, self._takes_images)
        return self._model

    async def aclose(self) -> None:
        """Closes the connections, if the model was ever opened."""
        if self._model is not None:
            await self._model.aclose()


def _open(address: ModelAddress, takes_images: bool | None) -> "PydanticAIModel":  # noqa: FBT001 - for `to_thread`
    from workers.agent.model.opening import opened

    return opened(address, takes_images=takes_images)
