"""The routes of this API: JSON is read strictly, and a query parameter that does not exist is an error."""

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from functools import wraps
from http import HTTPStatus
from inspect import iscoroutinefunction
from typing import Any

from anyio.to_thread import run_sync
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from control.api.edge_errors import UnsupportedMediaType
from control.api.json_body import read_json
from control.domain.errors import InvalidRequest, Refusal
from corral.contract.models import NUL
from corral.contract.problems import FieldProblem

#: A larger body is read in a thread: a megabyte of JSON takes long enough to hold up the renewals of others.
MAX_INLINE_BYTES = 32 * 1024


class StrictRoute(APIRoute):
    """For `/v1`: a typo in the query or in the body is told, never skipped."""

    refuses_unknown_query = True

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        status_code: int | None = options.get("status_code")
        super().__init__(path, _writing(endpoint, status_code or HTTPStatus.OK), **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        respond = super().get_route_handler()
        known_query = frozenset(_query_names(self)) if self.refuses_unknown_query else None

        async def respond_strictly(request: Request) -> Response:
            _check_address(request, known_query)
            if self.body_field is None:
                return await respond(request)
            readable = _JsonRequest(request.scope, request.receive)
            # Here, for FastAPI would make a bare 400 of a body that is over its limit.
            await readable.body()
            return await respond(readable)

        return respond_strictly


class TolerantRoute(StrictRoute):
    """For `/internal/v1`: JSON is read as strictly, but what it says beyond the known is skipped."""

    refuses_unknown_query = False


def _writing(endpoint: Callable[..., Any], status_code: int) -> Callable[..., Any]:
    """The endpoint, with its model written as JSON in its own thread: FastAPI would check it again, in another."""

    def write(answer: Any, arguments: dict[str, Any]) -> Any:
        if not isinstance(answer, BaseModel):
            return answer
        said = next((one for one in arguments.values() if isinstance(one, Response)), None)
        response = Response(answer.model_dump_json(), status_code, media_type="application/json")
        if said is not None:
            response.status_code = said.status_code or status_code
            response.headers.update(said.headers)
        return response

    if iscoroutinefunction(endpoint):

        @wraps(endpoint)
        async def answer_async(**arguments: Any) -> Any:
            return write(await endpoint(**arguments), arguments)

        return answer_async

    @wraps(endpoint)
    def answer(**arguments: Any) -> Any:
        return write(endpoint(**arguments), arguments)

    return answer


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """Stands for a body that is no JSON. No model takes it, so the refusal is told once the caller is known."""

    refusal: Refusal


class _JsonRequest(Request):
    """A request whose JSON is read strictly."""

    async def json(self) -> Any:
        body = await self.body()
        try:
            if len(body) <= MAX_INLINE_BYTES:
                return read_json(body)
            return await run_sync(read_json, body)
        except Refusal as refusal:
            # In a tuple, which FastAPI cannot take for an object whose fields are all at their defaults.
            return (_Unreadable(refusal),)


def body_refusal(body: object, content_type: str | None) -> Refusal | None:
    """Why a body that no model took could not be read at all; None where it was JSON."""
    match body:
        case (_Unreadable(refusal),):
            return refusal
        case bytes():  # FastAPI hands on what does not call itself JSON as it came
            given = f"this was {content_type}" if content_type else "there was none"
            return UnsupportedMediaType(f"send the body with `Content-Type: application/json`; {given}")
        case _:
            return None


def _check_address(request: Request, known_query: frozenset[str] | None) -> None:
    if NUL in request.scope["path"] or any(NUL in text for pair in request.query_params.multi_items() for text in pair):
        raise InvalidRequest("the address must not contain the NUL character")
    unknown = set(request.query_params) - known_query if known_query is not None else None
    if unknown:
        allowed = sorted(known_query or ())
        raise InvalidRequest(
            f"there is no query parameter '{min(unknown)}' here",
            errors=[
                FieldProblem(location=f"query.{name}", message="there is no such parameter", allowed=allowed)
                for name in sorted(unknown)
            ],
        )


def _query_names(route: APIRoute) -> Iterable[str]:
    for field in route.dependant.query_params:
        annotation = field.field_info.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from (one.alias or name for name, one in annotation.model_fields.items())
        else:
            yield field.alias
