"""How commands show their options: a switch takes no value, so no type of one stands beside it."""

from typing import Any

from typer.core import TyperCommand, TyperGroup, TyperOption


class Command(TyperCommand):
    def get_params(self, ctx: Any) -> Any:
        return _without_types_of_switches(super().get_params(ctx))


class Group(TyperGroup):
    def get_params(self, ctx: Any) -> Any:
        return _without_types_of_switches(super().get_params(ctx))


def _without_types_of_switches(params: list[Any]) -> list[Any]:
    # Here and not at each option: `--help` is made by typer itself.
    for param in params:
        if isinstance(param, TyperOption) and param.is_flag:
            param.metavar = ""
    return params
