"""One request and its answer, and the judgement whether that answer is ours."""

import asyncio
from http import HTTPStatus
from typing import TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from corral.contract.problems import Problem, ProblemCode
from workers.control_client.verdicts import CredentialRefused, NotOurs, Refused, Unreachable

#: Enough of a stranger's page to recognise it in the log.
EXCERPT_CHARACTERS = 120

Answer = TypeVar("Answer", bound=BaseModel)


async def exchange(
    http: httpx.AsyncClient,
    request: httpx.Request,
    answer: type[Answer],
    *,
    timeout_seconds: float,
) -> Answer:
    """Send the request and decode its answer; `timeout_seconds` is for all of it, body included."""
    where = f"{request.method} {request.url}"
    try:
        # httpx's own timeouts are per receive: a server that trickles would hold us for ever.
        async with asyncio.timeout(timeout_seconds):
            response = await http.send(request)
    except TimeoutError as error:
        raise Unreachable(f"{where}: no complete answer within {timeout_seconds:.2f} s") from error
    except httpx.HTTPError as error:
        raise Unreachable(f"{where}: {type(error).__name__}: {error}") from error
    return _decode(response, answer, where=where)


def _decode(response: httpx.Response, answer: type[Answer], *, where: str) -> Answer:
    if response.status_code == HTTPStatus.OK:
        try:
            return answer.model_validate_json(response.content)
        except ValidationError as error:
            raise NotOurs(f"{where}: 200 with a body that is no {answer.__name__}") from error
    problem = _problem(response)
    if problem is None:
        excerpt = response.text[:EXCERPT_CHARACTERS]
        # A 5xx of a proxy tells of an outage behind it.
        verdict = Unreachable if response.is_server_error else NotOurs
        raise verdict(f"{where}: {response.status_code} that the control plane did not write: {excerpt!r}")
    if problem.code is ProblemCode.UNAUTHENTICATED and problem.status == HTTPStatus.UNAUTHORIZED:
        raise CredentialRefused(problem.detail)
    raise Refused(problem)


def _problem(response: httpx.Response) -> Problem | None:
    try:
        problem = Problem.model_validate_json(response.content)
    except ValidationError:
        return None
    return problem if problem.status == response.status_code else None
