"""Opens a model at its address. Each provider's library is imported with the first of its models: some seconds."""

from typing import assert_never

import httpx2
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model

from workers.agent.model.adapter import PydanticAIModel
from workers.agent.model.connections import Connections
from workers.agent.model.providers import ModelAddress, ModelNotConfigured

#: The adapter ends a silent answer long before; this only bounds what it does not watch, such as a close.
_TIMEOUT = httpx2.Timeout(600, connect=10)


def opened(address: ModelAddress, *, takes_images: bool | None) -> PydanticAIModel:
    """The model, to be closed with `aclose()`. Raises `ModelNotConfigured`.

    `takes_images` is what the provider says of its model where it is None.
    """
    connections = Connections()
    http = httpx2.AsyncClient(
        timeout=_TIMEOUT,
        # Not compressed: a few bytes on the wire can be gigabytes of nothing.
        headers={"accept-encoding": "identity"},
        # One for each phone and its subagents, however many there are: none waits for the answer of another.
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
        event_hooks={"response": [connections.note]},
    )
    try:
        model = _model(address, http)
    except UserError as error:
        raise ModelNotConfigured(f"`{address.name[:100]}` cannot be opened: {error.message}") from error
    if takes_images is None:
        takes_images = address.api != "compatible" and bool(model.profile.get("supports_image_input", True))
    return PydanticAIModel(
        name=address.name,
        model=model,
        takes_images=takes_images,
        connections=connections,
        secrets=(address.api_key,) if address.api_key else (),
        close=http.aclose,
    )


def _model(address: ModelAddress, http: httpx2.AsyncClient) -> Model:
    match address.api:
        case "openai-responses" | "openai-chat" | "compatible":
            return _openai(address, http)
        case "anthropic":
            return _anthropic(address, http)
        case "google":
            return _google(address, http)
        case _:
            assert_never(address.api)


def _openai(address: ModelAddress, http: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel, OpenAIResponsesModelSettings
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    # Without a reason for its end, a chat completion that was broken off looks like a whole one.
    profile = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    url, key = address.url, address.api_key
    if address.api == "compatible":
        compatible = OpenAICompatibleProvider("compatible", base_url=url or "", api_key=key, http_client=http)
        return OpenAIChatModel(address.model, provider=compatible, profile=profile)
    provider = OpenAIProvider(base_url=url, api_key=key, http_client=http)
    if address.api == "openai-chat":
        return OpenAIChatModel(address.model, provider=provider, profile=profile)
    # Screens of somebody's phone stay out of the provider's store.
    settings = OpenAIResponsesModelSettings(openai_store=False)
    return OpenAIResponsesModel(address.model, provider=provider, settings=settings)


def _anthropic(address: ModelAddress, http: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    provider = AnthropicProvider(api_key=address.api_key, base_url=address.url, http_client=http)
    return AnthropicModel(address.model, provider=provider)


def _google(address: ModelAddress, http: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    provider = GoogleProvider(api_key=address.api_key, base_url=address.url, http_client=http)
    return GoogleModel(address.model, provider=provider)
