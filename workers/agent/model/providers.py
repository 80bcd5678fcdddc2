"""Models by name: `openai:gpt-5`, `anthropic:claude-…`, `google:gemini-…`, and `compatible:NAME` at an address.

Keys come from the environment, under the names that the providers themselves document. Importing a provider's library
takes seconds, so that it is done when a model is opened and not before.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from workers.agent.model.adapter import PydanticAIModel


class ModelNotConfigured(Exception):
    """This model cannot be asked as it is named: the message says what to set."""


Api = Literal["openai-responses", "openai-chat", "anthropic", "google", "compatible"]


@dataclass(frozen=True, slots=True)
class _Provider:
    api: Api
    key_variables: tuple[str, ...] = ()
    url_variables: tuple[str, ...] = ()


#: By every name that people use for them, those of pydantic-ai included.
_PROVIDERS: Mapping[str, _Provider] = {
    "openai": _Provider("openai-responses", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL",)),
    "openai-responses": _Provider("openai-responses", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL",)),
    "openai-chat": _Provider("openai-chat", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL",)),
    "anthropic": _Provider("anthropic", ("ANTHROPIC_API_KEY",), ("ANTHROPIC_BASE_URL",)),
    "google": _Provider("google", ("GOOGLE_API_KEY", "GEMINI_API_KEY"), ("GOOGLE_GEMINI_BASE_URL",)),
    "google-gla": _Provider("google", ("GOOGLE_API_KEY", "GEMINI_API_KEY"), ("GOOGLE_GEMINI_BASE_URL",)),
    "gemini": _Provider("google", ("GOOGLE_API_KEY", "GEMINI_API_KEY"), ("GOOGLE_GEMINI_BASE_URL",)),
    "compatible": _Provider("compatible"),
}


@dataclass(frozen=True, slots=True)
class ModelAddress:
    """Where a model is, checked: what is left is to open it."""

    name: str
    api: Api
    model: str
    url: str | None
    api_key: str | None


def address_of(
    name: str, *, url: str | None = None, api_key: str | None = None, environment: Mapping[str, str]
) -> ModelAddress:
    """Where the model of this name is. Imports no provider. Raises `ModelNotConfigured`.

    `url` and `api_key` win over the environment.
    """
    prefix, _, model = name.partition(":")
    provider = _PROVIDERS.get(prefix)
    if provider is None or not model:
        known = ", ".join(f"{known}:MODEL" for known in _PROVIDERS)
        raise ModelNotConfigured(f"no model is named `{name[:100]}`; models are named {known}")
    key = api_key or _first(provider.key_variables, environment)
    if key is None and provider.key_variables:
        raise ModelNotConfigured(f"`{name[:100]}` needs a key: set {' or '.join(provider.key_variables)}")
    address = url or _first(provider.url_variables, environment)
    if address is None and provider.api == "compatible":
        raise ModelNotConfigured(f"`{name[:100]}` needs the URL of its endpoint, such as http://127.0.0.1:8080/v1")
    if address is not None and (urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).hostname):
        raise ModelNotConfigured(f"the URL of `{name[:100]}` must begin with http:// or https:// and name a host")
    return ModelAddress(name, provider.api, model, address, key)


def open_model(
    name: str,
    *,
    url: str | None = None,
    api_key: str | None = None,
    environment: Mapping[str, str],
    takes_images: bool | None = None,
) -> "PydanticAIModel":
    """The model of this name, to be closed with `aclose()`. Nothing is sent yet. Raises `ModelNotConfigured`.

    `takes_images` is what the provider says of its model; of a `compatible` one nobody says it, and it is False.
    """
    address = address_of(name, url=url, api_key=api_key, environment=environment)
    from workers.agent.model.opening import opened

    return opened(address, takes_images=takes_images)


def _first(names: tuple[str, ...], environment: Mapping[str, str]) -> str | None:
    return next((value for name in names if (value := environment.get(name, "").strip())), None)
