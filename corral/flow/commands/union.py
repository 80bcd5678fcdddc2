"""All commands: the union that the runner matches on, and the table that the parser looks names up in."""

from typing import Annotated, get_args

from pydantic import Field

from corral.flow.commands import app, checks, control, keys, swipes, taps, text
from corral.flow.commands.flow_command import FlowCommand

Command = Annotated[
    app.LaunchApp
    | app.StopApp
    | app.KillApp
    | taps.TapOn
    | taps.DoubleTapOn
    | taps.LongPressOn
    | swipes.Swipe
    | swipes.Scroll
    | swipes.ScrollUntilVisible
    | keys.Back
    | keys.PressKey
    | keys.HideKeyboard
    | text.InputText
    | text.InputRandomEmail
    | text.InputRandomNumber
    | text.InputRandomPersonName
    | text.InputRandomText
    | text.EraseText
    | checks.AssertVisible
    | checks.AssertNotVisible
    | checks.ExtendedWaitUntil
    | checks.WaitForAnimationToEnd
    | checks.TakeScreenshot
    | control.RunFlow
    | control.Repeat
    | control.Retry,
    Field(discriminator="command"),
]

_MODELS: tuple[type[FlowCommand], ...] = get_args(get_args(Command)[0])

for _model in _MODELS:
    if issubclass(_model, control.HoldingCommand):
        _model.model_rebuild(_types_namespace={"Command": Command})

COMMANDS = {str(model.model_fields["command"].default): model for model in _MODELS}

#: What a host tells the control plane that it can run.
SUPPORTED_COMMANDS = frozenset(COMMANDS)
