"""Checks that what an app's file names is there: screens that are opened, variables that are read or set."""

from collections.abc import Iterator

from workers.phone.app.description import AppDescription
from workers.phone.app.effects import Add, Assign, Conditions, Effect, Goto, Toast, Toggle
from workers.phone.app.nodes import Node, TextField, Toggleable, children
from workers.phone.app.words import Value, placeholders


def broken_references(app: AppDescription) -> Iterator[str]:
    """One line for each name that leads nowhere: `field: what is wrong`."""
    yield from _References(app).broken()


class _References:
    def __init__(self, app: AppDescription) -> None:
        self._app = app
        self._variables: dict[str, Value] = {**app.state, **app.saved}

    def broken(self) -> Iterator[str]:
        app = self._app
        yield from self._screen("start", app.start)
        for link, name in app.links.items():
            yield from self._screen(f"links.{link}", name)
        for name in app.state.keys() & app.saved.keys():
            yield f"saved.{name}: also in state; a variable is one or the other"
        for name, screen in app.screens.items():
            at = f"screens.{name}"
            yield from self._text(f"{at}.title", screen.title, has_item=False)
            for field, effects in (("opened", screen.opened), ("back", screen.back)):
                yield from self._effects(f"{at}.{field}", effects, has_item=False)
            for number, swipe in enumerate(screen.swipes):
                yield from self._effects(f"{at}.swipes.{number}.do", swipe.effects, has_item=False)
            yield from self._nodes(at, screen.nodes, has_item=False)

    def _nodes(self, at: str, nodes: tuple[Node, ...], *, has_item: bool) -> Iterator[str]:
        for number, node in enumerate(nodes):
            here = f"{at}.nodes.{number}"
            inside = has_item or node.for_each is not None
            yield from self._node(here, node, has_item=inside)
            yield from self._nodes(here, children(node), has_item=inside)

    def _node(self, at: str, node: Node, *, has_item: bool) -> Iterator[str]:
        for field, text in (("text", node.label), ("id", node.id), ("desc", node.desc)):
            yield from self._text(f"{at}.{field}", text, has_item=has_item)
        for field in ("when", "enabled", "selected"):
            conditions: bool | Conditions = getattr(node, field)
            if not isinstance(conditions, bool):
                yield from self._conditions(f"{at}.{field}", conditions, has_item=has_item)
        for field in ("tap", "long_press", "double_tap", "touch", "submit"):
            yield from self._effects(f"{at}.{field}", getattr(node, field, ()), has_item=has_item)
        if isinstance(node, TextField):
            yield from self._variable(f"{at}.bind", node.bind, str)
        elif isinstance(node, Toggleable):
            yield from self._variable(f"{at}.bind", node.bind, bool)

    def _effects(self, at: str, effects: tuple[Effect, ...], *, has_item: bool) -> Iterator[str]:
        for number, effect in enumerate(effects):
            here = f"{at}.{number}"
            yield from self._conditions(f"{here}.when", effect.when, has_item=has_item)
            match effect:
                case Goto():
                    yield from self._screen(f"{here}.goto", effect.goto)
                case Assign():
                    for name, value in effect.assign.items():
                        yield from self._variable(f"{here}.set.{name}", name, type(value))
                        yield from self._text(f"{here}.set.{name}", str(value), has_item=has_item)
                case Add():
                    for name in effect.add:
                        yield from self._variable(f"{here}.add.{name}", name, int)
                case Toggle():
                    yield from self._variable(f"{here}.toggle", effect.toggle, bool)
                case Toast():
                    yield from self._text(f"{here}.toast", effect.toast, has_item=has_item)
                case _:
                    pass

    def _screen(self, at: str, name: str) -> Iterator[str]:
        if name not in self._app.screens:
            yield f"{at}: no screen {name!r}; there are {', '.join(self._app.screens)}"

    def _variable(self, at: str, name: str, kind: type) -> Iterator[str]:
        if name not in self._variables:
            yield f"{at}: no variable {name!r} in state or saved"
        elif type(self._variables[name]) is not kind:
            words = {str: "a text", int: "a number", bool: "true or false"}
            yield f"{at}: {name} holds {words[type(self._variables[name])]}, this needs {words[kind]}"

    def _text(self, at: str, text: str, *, has_item: bool) -> Iterator[str]:
        yield from self._known(at, placeholders(text), has_item=has_item)

    def _conditions(self, at: str, conditions: Conditions, *, has_item: bool) -> Iterator[str]:
        for condition in conditions:
            yield from self._known(at, condition.names, has_item=has_item)

    def _known(self, at: str, names: set[str], *, has_item: bool) -> Iterator[str]:
        for name in sorted(names - self._variables.keys()):
            if name != "item":
                yield f"{at}: no variable {name!r} in state or saved"
            elif not has_item:
                yield f"{at}: 'item' is only known inside for_each"
