"""One request to the API: sent, repeated where that is safe, and its answer read as a model or an error."""

import ssl
import time
from collections.abc import Mapping
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from corral.client.errors import Unreachable, refusal
from corral.contract.problems import Problem

Answer = TypeVar("Answer", bound=BaseModel)

#: Long enough for a control plane that restarts, short enough that a person does not wonder.
RETRY_PAUSES_SECONDS = (0.1, 0.3, 0.8, 2.0)
#: The API holds no call of the SDK open, so a longer silence means that it hangs.
CALL_LIMIT_SECONDS = 30.0
PROBE_LIMIT_SECONDS = 2.0
_PASSING_STATUSES = frozenset({502, 503, 504})
_FIRST_ERROR_STATUS = 400
_FIRST_SERVER_ERROR_STATUS = 500


class Transport:
    """A pool of connections to one API, with the key in every request."""

    def __init__(self, url: str, api_key: str) -> None:
        _check(url)
        self.url = url.rstrip("/")
        headers = {"Authorization": f"Bearer {api_key}", "Accept": "application/json, application/problem+json"}
        self._http = httpx.Client(base_url=self.url, headers=headers, verify=_trusted(url), timeout=CALL_LIMIT_SECONDS)

    def close(self) -> None:
        self._http.close()

    def call(  # noqa: D417 - the other arguments are httpx's
        self,
        answer: type[Answer],
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: BaseModel | None = None,
        headers: Mapping[str, str] | None = None,
        is_repeatable: bool = True,
    ) -> Answer:
        """The decoded answer.

        Args:
            is_repeatable: the request means the same when it arrives twice, so it may be sent again.

        Raises:
            Refused: or one of its subclasses, for every 4xx.
            Unreachable: no answer, or none that is Corral's, after the last repetition.
        """
        content = None if body is None else body.model_dump_json(exclude_none=True)
        request = self._http.build_request(
            method,
            path,
            params=_given(params),
            content=content,
            headers=dict(headers or {}) | ({"Content-Type": "application/json"} if content else {}),
        )
        response = self._send(request, RETRY_PAUSES_SECONDS if is_repeatable else ())
        self._raise_for_problem(response)
        try:
            return answer.model_validate_json(response.content)
        except ValidationError as trouble:
            raise self._foreign(response) from trouble

    def download(self, path: str, *, params: Mapping[str, Any] | None = None) -> bytes:
        """The bytes that a GET answers with; raises what `call` raises."""
        request = self._http.build_request("GET", path, params=_given(params), headers={"Accept": "*/*"})
        response = self._send(request, RETRY_PAUSES_SECONDS)
        self._raise_for_problem(response)
        if not response.is_success:
            raise self._foreign(response)
        return response.content

    def succeeds(self, path: str) -> bool:
        """Whether a GET is answered with success, asked once."""
        try:
            return self._http.get(path, timeout=PROBE_LIMIT_SECONDS).is_success
        except httpx.TransportError:
            return False

    def _send(self, request: httpx.Request, pauses_seconds: tuple[float, ...]) -> httpx.Response:
        for pause_seconds in pauses_seconds:
            try:
                response = self._http.send(request)
            except httpx.TransportError:
                pass
            else:
                if response.status_code not in _PASSING_STATUSES:
                    return response
            time.sleep(pause_seconds)
        try:
            return self._http.send(request)
        except httpx.TransportError as trouble:
            said = str(trouble) or type(trouble).__name__
            raise Unreachable(f"no answer from the control plane at {self.url}: {said}") from trouble

    def _raise_for_problem(self, response: httpx.Response) -> None:
        if response.status_code < _FIRST_ERROR_STATUS:
            return
        problem = self._problem(response)
        if response.status_code >= _FIRST_SERVER_ERROR_STATUS:
            raise Unreachable(f"the control plane at {self.url} is in trouble: {problem.detail}", problem)
        raise refusal(problem)

    def _problem(self, response: httpx.Response) -> Problem:
        try:
            return Problem.model_validate_json(response.content)
        except ValidationError as trouble:
            # A proxy's page is no verdict of the API.
            raise self._foreign(response) from trouble

    def _foreign(self, response: httpx.Response) -> Unreachable:
        return Unreachable(f"what answered at {response.url} with {response.status_code} is not a Corral that I know")


def _given(params: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (params or {}).items() if value is not None}


def _check(url: str) -> None:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as trouble:
        raise ValueError(f"'{url}' is no address of an API: {trouble}") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ValueError(f"'{url}' is no address of an API; it looks like http://127.0.0.1:7700")


def _trusted(url: str) -> ssl.SSLContext:
    """Whom to believe over TLS. Reading all certificates takes longer than a call; without TLS nobody is believed."""
    is_encrypted = httpx.URL(url).scheme == "https"
    return httpx.create_ssl_context() if is_encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
