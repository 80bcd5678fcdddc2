"""Catches what the routes raise and answers with the problem document of it."""

from typing import Any

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from sqlalchemy.exc import DataError, ProgrammingError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from control.api.edge_errors import MethodNotAllowed, RouteNotFound
from control.api.problems import refusal_response
from control.api.request_log import RequestLog
from control.api.strict_route import body_refusal
from control.api.validation import field_problems
from control.domain.errors import InvalidRequest, NotReady, Refusal
from control.domain.field_problems import summary
from control.store.database import DATABASE_AWAY, is_schema_behind

log: structlog.stdlib.BoundLogger = structlog.get_logger()

_DATABASE_ERRORS = (*DATABASE_AWAY, DataError, ProgrammingError)


def answer_failures(app: FastAPI, routes: list[APIRoute]) -> None:
    """Install the handlers; `routes` are all that the app has, for the `Allow` header."""

    async def not_routed(request: Request, error: HTTPException) -> Response:
        return _not_routed(request, error, routes)

    handlers: dict[type[Exception], Any] = {
        RequestValidationError: _invalid,
        HTTPException: not_routed,
        ClientDisconnect: _gone,
        **dict.fromkeys((Refusal, *_DATABASE_ERRORS), _failed),
    }
    for error, handler in handlers.items():
        app.add_exception_handler(error, handler)


async def answer_failure(error: Exception, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request that failed in front of the app as the app would have, with a line in the log."""

    async def fail(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise _database_refusal(error, scope["path"]) or error

    await RequestLog(fail)(scope, receive, send)


async def _failed(request: Request, error: Exception) -> Response:
    refusal = error if isinstance(error, Refusal) else _database_refusal(error, request.url.path)
    if refusal is None:
        raise error
    return _answer(request, refusal)


async def _invalid(request: Request, error: RequestValidationError) -> Response:
    if refusal := body_refusal(error.body, request.headers.get("content-type")):
        return _answer(request, refusal)
    problems = field_problems(error, request.scope.get("route"))
    return _answer(request, InvalidRequest(summary(problems), errors=problems))


def _database_refusal(error: Exception, path: str) -> Refusal | None:
    match error:
        case _ if isinstance(error, DATABASE_AWAY):
            log.error("request.database_away", path=path, error=_cause(error))
            return NotReady("the database cannot be reached just now; try again in a moment")
        case DataError():
            # The models should have refused it with its place; the log tells which of them is too wide.
            log.error("request.not_storable", path=path, error=_cause(error))
            return InvalidRequest("a value in the request is out of the range that can be stored")
        case _ if is_schema_behind(error):
            log.error("request.schema_behind", path=path, error=_cause(error))
            return NotReady("the database has another schema than this version needs: run `corral migrate`")
        case _:
            return None


async def _gone(request: Request, _error: ClientDisconnect) -> Response:
    # Nobody reads this answer; it ends the request for the server and the log.
    return _answer(request, InvalidRequest("the connection was closed before the body had arrived"))


def _not_routed(request: Request, error: HTTPException, routes: list[APIRoute]) -> Response:
    path, method = request.url.path, request.method
    match error.status_code:
        case 404:
            return _answer(request, RouteNotFound(f"there is nothing at {path}; /openapi.json lists what there is"))
        case 405:
            allowed = _allowed_methods(path, routes)
            response = _answer(request, MethodNotAllowed(f"{method} is not allowed here", allowed=allowed))
            response.headers["Allow"] = ", ".join(allowed)
            return response
        case _:
            return _answer(request, InvalidRequest(error.detail))


def _allowed_methods(path: str, routes: list[APIRoute]) -> list[str]:
    return sorted({method for route in routes if route.path_regex.match(path) for method in route.methods or ()})


def _cause(error: Exception) -> str:
    # The driver's own words: SQLAlchemy adds the statement with its values, and those may be secrets.
    cause = getattr(error, "orig", None) or error
    return f"{type(cause).__name__}: {cause}"


def _answer(request: Request, refusal: Refusal) -> Response:
    return refusal_response(refusal, request_id=getattr(request.state, "request_id", None))
