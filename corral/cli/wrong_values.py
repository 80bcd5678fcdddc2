"""What is wrong with the values of options, by the names that the options have on the command line."""

from pydantic import ValidationError
from pydantic_core import ErrorDetails

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


#: Pydantic's own are for programmers.
_WORDS = {
    "string_too_short": "is empty",
    "string_too_long": "has more than {max_length:,} characters",
    "greater_than_equal": "needs {ge:,} or more",
    "less_than_equal": "needs {le:,} or less",
}
_NAME = "begins with a letter or _ and goes on with letters, digits and _, up to 100"
_LABEL_NAME = "begins with a letter or a digit and goes on with those and with . _ / -, up to 63"
#: What the pattern of a field asks for.
_NAMES = {"env": _NAME, "secrets": _NAME, "labels": _LABEL_NAME, "label": _LABEL_NAME}


def sentences(mistake: ValidationError) -> str:
    """One sentence for each value that is wrong."""
    return "; ".join(
        f"{_place(error, mistake.title)}: {_words(error)}"
        for error in mistake.errors()
        # That a text is no list either is true, and no help: the command line gives only texts.
        if error["type"] != "list_type"
    )


def _words(error: ErrorDetails) -> str:
    location = error["loc"]
    if error["type"] == "string_pattern_mismatch" and location and location[0] in _NAMES:
        return f"a name {_NAMES[str(location[0])]}"
    if words := _WORDS.get(error["type"]):
        return words.format(**error.get("ctx", {}))
    # Pydantic puts its own words before those of a validator; the validator's say it all.
    return error["msg"].removeprefix("Value error, ")


def _place(error: ErrorDetails, model: str) -> str:
    """The option, and which of its values where it was given several times."""
    if not error["loc"]:
        return {"Requirement": "--require", "TaskSubmission": "the task"}.get(model, model)
    field, *inner = (
        repr(error["input"]) if isinstance(part, int) else part for part in error["loc"] if "[" not in str(part)
    )
    return " ".join([_OPTIONS.get(field, f"--{field.replace('_', '-')}"), *inner])
