"""Typing, and taking away what was typed."""

from pydantic import Field, model_validator

from workers.agent.task_secrets import SecretNotGranted
from workers.agent.tools.aim import spot_of
from workers.agent.tools.device_call import DeviceCall
from workers.agent.tools.device_tool import DeviceTool
from workers.agent.tools.elements import text_in
from workers.agent.tools.failures import OutcomeUnknown, ToolFailed
from workers.agent.tools.fields import empty_focused_field, is_shown, read_back
from workers.agent.tools.quoting import quoted
from workers.agent.tools.target import Flag, Target
from workers.agent.tools.tool import Arguments, ToolCode
from workers.device import actions
from workers.device.text import MAX_CHARACTERS

_SHOWN_CHARACTERS = 60


class InputTextArguments(Arguments):
    """Exactly one of `text` and `secret`."""

    text: str | None = Field(default=None, min_length=1, max_length=MAX_CHARACTERS)
    secret: str | None = Field(
        default=None, description="The name of a secret of this task, typed without being shown."
    )
    target: Target | None = Field(default=None, description="The field, tapped first; else what has the focus.")
    clear: Flag = Field(default=False, description="Delete what the field holds before typing.")
    submit: Flag = Field(default=False, description="Press enter after typing.")

    @model_validator(mode="after")
    def _has_one(self) -> "InputTextArguments":
        if (self.text is None) == (self.secret is None):
            raise ValueError("exactly one of `text` and `secret` is needed")
        return self


class ClearTextArguments(Arguments):
    target: Target | None = Field(default=None, description="The field, tapped first; else what has the focus.")


class InputText(DeviceTool[InputTextArguments]):
    name = "input_text"
    description = "Type a text, or a secret by its name, into a field. What was typed is read back where it can be."
    arguments = InputTextArguments

    async def act(self, arguments: InputTextArguments, call: DeviceCall) -> None:
        # Before the first touch: a name that is none leaves everything as it is.
        text = arguments.text if arguments.secret is None else self._secret(arguments.secret)
        if text is None:
            raise AssertionError("there is a text or a secret")
        await _focus(arguments.target, call)
        if arguments.clear:
            await empty_focused_field(call)
        if arguments.secret is None:
            shown = quoted(call.redact(text), limit=_SHOWN_CHARACTERS)
            await call.do(actions.InputText(text), f"typed {shown}")
        else:
            await _type_secret(arguments.secret, text, call)
        await _check_typed(text, call, is_secret=arguments.secret is not None)
        if arguments.submit:
            await call.do(actions.PressKey("KEYCODE_ENTER"), "pressed enter")

    def _secret(self, name: str) -> str:
        secrets = self.sight.secrets
        try:
            return secrets.value_of(name)
        except SecretNotGranted:
            known = ", ".join(secrets.names) or "no secrets"
            message = f"this task has no secret {quoted(name, limit=_SHOWN_CHARACTERS)}; it has {known}"
            raise ToolFailed(ToolCode.UNKNOWN_SECRET, message) from None


class ClearText(DeviceTool[ClearTextArguments]):
    name = "clear_text"
    description = "Delete all that a field holds."
    arguments = ClearTextArguments

    async def act(self, arguments: ClearTextArguments, call: DeviceCall) -> None:
        await _focus(arguments.target, call)
        await empty_focused_field(call)
        field = await read_back(call, None)
        if field is not None and not is_shown(None, field):
            shown = "characters" if field.is_password else quoted(call.redact(text_in(field)), limit=_SHOWN_CHARACTERS)
            raise ToolFailed(ToolCode.NOT_APPLIED, f"the field still holds {shown}")


async def _focus(target: Target | None, call: DeviceCall) -> None:
    if target is not None:
        spot = await spot_of(target, call)
        await call.do(actions.Tap(spot.x_px, spot.y_px), f"tapped {spot.told}")


async def _type_secret(name: str, value: str, call: DeviceCall) -> None:
    try:
        await call.do(actions.InputText(value), f"typed the secret {name}", known_as=f"secret {name}")
    except OutcomeUnknown as unknown:
        raise OutcomeUnknown(unknown.code, _withheld(name)) from None
    except ToolFailed as failed:
        raise ToolFailed(failed.code, _withheld(name)) from None


def _withheld(name: str) -> str:
    # The device's own words may quote a part of the value, which would not be recognised as one.
    return f"the secret {name} was not typed in full; the device's words are withheld, for they may hold a part of it"


async def _check_typed(text: str, call: DeviceCall, *, is_secret: bool) -> None:
    """Reads the field back. Raises `ToolFailed` if it does not hold the text; what cannot be read says so."""
    field = await read_back(call, text)
    if field is None:
        call.did.append("found no field with the focus to read it back from")
    elif not field.is_password and not is_shown(text, field):
        # What there is of a secret may be a part of it, which would not be recognised as one.
        shown = "something else" if is_secret else quoted(call.redact(text_in(field)), limit=_SHOWN_CHARACTERS)
        message = f"the field holds {shown} after typing; it may have changed or refused what was typed"
        raise ToolFailed(ToolCode.NOT_APPLIED, message)
