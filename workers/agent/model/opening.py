"""Opens a model at its address. Importing this imports every provider's library: some seconds."""

from typing import assert_never

import httpx2
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from workers.agent.model.adapter import PydanticAIModel
from workers.agent.model.providers import ModelAddress, ModelNotConfigured

#: The adapter ends a silent answer long before; this only bounds what it does not watch, such as a close.
_TIMEOUT = httpx2.Timeout(600, connect=10)

#: Without a reason for its end, a chat completion that was broken off looks like a whole one.
_CHAT_PROFILE = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)


def opened(address: ModelAddress, *, takes_images: bool | None) -> PydanticAIModel:
    http = httpx2.AsyncClient(timeout=_TIMEOUT)
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
        secrets=(address.api_key,) if address.api_key else (),
        close=http.aclose,
    )


def _model(address: ModelAddress, http: httpx2.AsyncClient) -> Model:
    model, url, key = address.model, address.url, address.api_key
    match address.api:
        case "openai-responses":
            # Screens of somebody's phone stay out of the provider's store.
            settings = OpenAIResponsesModelSettings(openai_store=False)
            provider = OpenAIProvider(base_url=url, api_key=key, http_client=http)
            return OpenAIResponsesModel(model, provider=provider, settings=settings)
        case "openai-chat":
            provider = OpenAIProvider(base_url=url, api_key=key, http_client=http)
            return OpenAIChatModel(model, provider=provider, profile=_CHAT_PROFILE)
        case "compatible":
            provider = OpenAICompatibleProvider("compatible", base_url=url or "", api_key=key, http_client=http)
            return OpenAIChatModel(model, provider=provider, profile=_CHAT_PROFILE)
        case "anthropic":
            provider = AnthropicProvider(api_key=key, base_url=url, http_client=http)
            return AnthropicModel(model, provider=provider)
        case "google":
            provider = GoogleProvider(api_key=key, base_url=url, http_client=http)
            return GoogleModel(model, provider=provider)
        case _:
            assert_never(address.api)
