"""The two ways in which Corral reads JSON, and the field types that many models share."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

#: Postgres cannot store NUL in text, and nobody means it.
NUL = "\x00"
#: Longer than any name or remedy that means something.
MAX_TOLD = 500


class Strict(BaseModel):
    """A public request: an unknown field is an error, for it is a typo or a wish that would be ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=False)


class Tolerant(BaseModel):
    """A message of the host protocol, and every answer: unknown fields are skipped, for the other side may be newer."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def _without_nul(text: str) -> str:
    if NUL in text:
        raise ValueError("must not contain the NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must be text that UTF-8 can carry: it contains a lone surrogate") from None
    return text


def _readable(text: str) -> str:
    return text.replace(NUL, "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()[:MAX_TOLD]


Text = Annotated[str, AfterValidator(_without_nul)]
#: What a device says of itself: cleaned and cut where a person's text would be refused, for one odd phone must not keep
#: its host from being heard.
Told = Annotated[str, AfterValidator(_readable)]
Line = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_without_nul)]
#: More than a person writes as one wish; what is larger belongs into a flow.
Goal = Annotated[str, StringConstraints(min_length=1, max_length=20_000), AfterValidator(_without_nul)]
Reason = Annotated[str, StringConstraints(max_length=500), AfterValidator(_without_nul)]
LabelKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$")]
LabelValue = Annotated[str, StringConstraints(max_length=200), AfterValidator(_without_nul)]
EnvName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
ArtifactName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")]
