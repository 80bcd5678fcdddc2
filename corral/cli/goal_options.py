"""The options of `corral submit --goal`, and what becomes of them."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from corral.cli.failures import WrongUsage
from corral.cli.flow_files import read_flow, read_text
from corral.contract.goals import DEFAULT_MAX_STEPS, AgentOptions
from corral.contract.tasks import TaskKind

_PANEL = "A goal instead of a flow"

Goal = Annotated[
    str | None, typer.Option(metavar="TEXT", help="What an agent shall reach, in plain words.", rich_help_panel=_PANEL)
]
Verify = Annotated[
    str | None,
    typer.Option(metavar="YAML", help="Must be seen at the end: 'visible: \"Saved\"'.", rich_help_panel=_PANEL),
]
VerifyFile = Annotated[str | None, typer.Option(metavar="PATH", help="The same, in a file.", rich_help_panel=_PANEL)]
Model = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Only on hosts with this model, as openai:gpt-5.", rich_help_panel=_PANEL),
]
Script = Annotated[
    str | None, typer.Option(metavar="PATH", help="Play these answers and ask no model.", rich_help_panel=_PANEL)
]
Secret = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A secret of the host that it may type.", rich_help_panel=_PANEL),
]
MaxSteps = Annotated[
    int | None, typer.Option(help=f"Answers of the model; {DEFAULT_MAX_STEPS} if not given.", rich_help_panel=_PANEL)
]
MaxTokens = Annotated[int | None, typer.Option(help="Tokens in and out of the model.", rich_help_panel=_PANEL)]
File = Annotated[
    list[str] | None,
    typer.Option(metavar="PATH", help="A flow that it may run, with what that includes.", rich_help_panel=_PANEL),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalOptions:
    """The options as they were given; each is named like its option."""

    verify: str | None
    verify_file: str | None
    model: str | None
    script: str | None
    secret: list[str] | None
    max_steps: int | None
    max_tokens: int | None
    file: list[str] | None

    def refuse_any(self) -> None:
        """Raises `WrongUsage` for the first that was given."""
        for option in fields(self):
            if getattr(self, option.name) not in (None, []):
                raise WrongUsage(f"--{option.name.replace('_', '-')} belongs to --goal, and not to a flow")


def goal_fields(goal: str, options: GoalOptions) -> dict[str, Any]:
    """The goal as fields of a submission. Raises `WrongUsage` for a file that cannot be read."""
    return {
        "kind": TaskKind.GOAL,
        "goal": goal,
        "verify": _verify(options),
        "agent": _agent(options),
        "files": _written_flows(options.file or []),
    }


def _verify(options: GoalOptions) -> str | None:
    if options.verify_file is None:
        return options.verify
    if options.verify is not None:
        raise WrongUsage("give --verify or --verify-file, not both")
    return read_text(Path(options.verify_file), named=options.verify_file)


def _agent(options: GoalOptions) -> AgentOptions | None:
    if options.model is not None and options.script is not None:
        raise WrongUsage("a script is played instead of a model: give --model or --script, not both")
    given = {
        "model": options.model,
        "script": None if options.script is None else read_text(Path(options.script), named=options.script),
        "secrets": options.secret,
        "max_steps": options.max_steps,
        "max_tokens": options.max_tokens,
    }
    given = {name: value for name, value in given.items() if value is not None}
    return AgentOptions.model_validate(given) if given else None


def _written_flows(paths: list[str]) -> dict[str, str]:
    """Each flow by its file's name, and what it includes by its path from there."""
    files: dict[str, str] = {}
    for path in paths:
        flow = read_flow(Path(path))
        for name, text in {Path(path).name: flow.source, **flow.files}.items():
            if files.setdefault(name, text) != text:
                raise WrongUsage(f"--file {path}: another file is called {name} as well; rename one of them")
    return files
