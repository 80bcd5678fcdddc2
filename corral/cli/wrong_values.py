"""What is wrong with the values of options, by the names that the options have on the command line."""

from pydantic import ValidationError

#: Fields of the contract whose option is called otherwise.
_OPTIONS = {
    "timeout_seconds": "--timeout",
    "queue_timeout_seconds": "--queue-timeout",
    "batch_id": "--batch",
    "labels": "--label",
    "scopes": "--scope",
    "secrets": "--secret",
    # Of a requirement.
    "requires": "--require",
    "label": "--require",
    "value": "--require",
    # These come from the flow's file and from those that it includes.
    "flow": "FILE",
    "files": "FILE includes",
}


def sentences(mistake: ValidationError) -> str:
    """One sentence for each value that is wrong."""
    # Pydantic puts its own words before those of a validator; the validator's say it all.
    return "; ".join(
        f"{_place(error['loc'], mistake.title)}: {error['msg'].removeprefix('Value error, ')}"
        for error in mistake.errors()
        # That a text is no list either is true, and no help: the command line gives only texts.
        if error["type"] != "list_type"
    )


def _place(location: tuple[int | str, ...], model: str) -> str:
    if not location:
        return {"Requirement": "--require", "TaskSubmission": "the task"}.get(model, model)
    field, *inner = (str(part) for part in location if "[" not in str(part))
    return " ".join([_OPTIONS.get(field, f"--{field.replace('_', '-')}"), *inner])
