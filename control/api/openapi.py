"""The OpenAPI document: what FastAPI makes of the routes, with our problem documents as every call's default answer."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from control.api.problems import MEDIA_TYPE, STATUS_AND_TITLE
from corral.contract.problems import Problem

DESCRIPTION = """\
Corral runs tasks on fleets of Android devices, and every task can be stopped.

Every answer that is not a success is a problem document (RFC 9457) with a `code` from a closed list.
`/internal/v1` is what device hosts speak; everybody else uses `/v1`."""

TAGS = [
    {"name": "tasks", "description": "Submit, look, cancel."},
    {"name": "artifacts", "description": "Screenshots and files that runs left behind."},
    {"name": "hosts", "description": "Device hosts and their devices."},
    {"name": "keys", "description": "Who may call."},
    {"name": "health", "description": "For probes; no key needed."},
    {"name": "host protocol", "description": "Between device hosts and the control plane."},
]


def describe(app: FastAPI) -> dict[str, Any]:
    """The document, made once."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=DESCRIPTION, routes=app.routes, tags=TAGS
        )
        _document_problems(document)
        app.openapi_schema = document
    return app.openapi_schema


def _document_problems(document: dict[str, Any]) -> None:
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas: dict[str, Any] = document["components"]["schemas"]
    schemas.update(schema.pop("$defs"), Problem=schema)
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    codes = ", ".join(f"`{code}` ({status.value})" for code, (status, _) in STATUS_AND_TITLE.items())
    default = {
        "description": f"A problem document. Codes: {codes}",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for path in document["paths"].values():
        for call in path.values():
            # FastAPI's own description of a failed validation is not what is sent here.
            call["responses"].pop("422", None)
            call["responses"]["default"] = default
