"""Which environment variables are settings of some part of Corral."""

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from control.app.settings import Settings
from control.flower.settings import FlowerSettings
from workers.host.settings import HostSettings


def is_setting(variable: str) -> bool:
    """Whether the variable is read, or is the name of a file with a secret that is read."""
    return variable in _fields() or names_secret(variable)


def names_secret(variable: str) -> bool:
    """Whether the variable names the file with a secret that is read."""
    return variable.endswith("_FILE") and "SecretStr" in str(_fields().get(variable.removesuffix("_FILE")))


def _fields() -> dict[str, object]:
    kinds: tuple[type[BaseSettings], ...] = (Settings, FlowerSettings, HostSettings)
    return {
        _variable(kind, name, field): field.annotation for kind in kinds for name, field in kind.model_fields.items()
    }


def _variable(kind: type[BaseSettings], name: str, field: FieldInfo) -> str:
    return str(field.validation_alias or f"{kind.model_config.get('env_prefix', '')}{name.upper()}")
