"""The host's calls, one method for each row of the protocol, with models of the contract on both sides."""

import ssl
from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Self
from urllib.parse import quote, urlsplit
from uuid import UUID

import httpx
from pydantic import BaseModel

from corral.contract.host_protocol import (
    ArtifactStored,
    ClaimReply,
    ClaimRequest,
    Heartbeat,
    HeartbeatReply,
    HostRegistered,
    HostRegistration,
    HostRenewalRequest,
    HostRenewalResponse,
    LeaseRenewalRequest,
    LeaseRenewalResponse,
    TerminalResultRequest,
    TerminalResultResponse,
)
from corral.contract.problems import Problem, ProblemCode
from workers.control_client.exchange import exchange
from workers.control_client.verdicts import (
    CallUnknown,
    LeaseLost,
    Refused,
    ReportRefused,
    StaleIncarnation,
    Unreachable,
)

#: The part of a lease that an answer may take beyond the time for which a request is held: a lost request leaves
#: room for several more before the lease ends.
ANSWER_SHARE = 1 / 6
#: Uploads carry megabytes and hold no lease up.
UPLOAD_SECONDS = 30.0

#: About the report itself, not about this moment: the same bytes will be refused again.
_FINAL_FOR_A_REPORT = frozenset(
    {
        ProblemCode.STALE_LEASE,
        ProblemCode.RESULT_CONFLICT,
        ProblemCode.CANCEL_NOT_REQUESTED,
        ProblemCode.INVALID_REQUEST,
        ProblemCode.BODY_TOO_LARGE,
    }
)

_CALL_UNKNOWN = frozenset({ProblemCode.ROUTE_NOT_FOUND, ProblemCode.METHOD_NOT_ALLOWED})


async def register_host(
    api_url: str, registration: HostRegistration, *, join_token: str, timeout_seconds: float
) -> HostRegistered:
    """Enrol this host. The credential in the answer is shown this once."""
    headers = {"authorization": f"Bearer {join_token}"}
    async with httpx.AsyncClient(
        base_url=_internal(api_url),
        headers=headers,
        verify=_trusted(api_url),
        timeout=None,  # noqa: S113 - exchange() has the deadline
    ) as http:
        request = _post(http, "hosts/register", registration)
        return await exchange(http, request, HostRegistered, timeout_seconds=timeout_seconds)


class ControlClient:
    """The calls of a registered host. Use it as an async context manager: it owns connections.

    Renewals, claims and the rest have connection pools of their own: neither a held claim nor a slow upload may keep
    a renewal waiting for a connection.
    """

    def __init__(self, api_url: str, *, host_id: UUID, credential: str) -> None:
        self._host = f"hosts/{host_id}"
        headers = {"authorization": f"Bearer {credential}"}
        trusted = _trusted(api_url)

        def pool() -> httpx.AsyncClient:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=60)
            return httpx.AsyncClient(
                base_url=_internal(api_url),
                headers=headers,
                verify=trusted,
                timeout=None,  # noqa: S113 - exchange() has the deadline
                limits=limits,
            )

        self._renewals, self._claims, self._rest = pool(), pool(), pool()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for http in (self._renewals, self._claims, self._rest):
            await http.aclose()

    async def heartbeat(self, heartbeat: Heartbeat, *, timeout_seconds: float) -> HeartbeatReply:
        request = _post(self._rest, f"{self._host}/heartbeat", heartbeat)
        with _incarnation_verdict():
            return await exchange(self._rest, request, HeartbeatReply, timeout_seconds=timeout_seconds)

    async def claim(self, claim: ClaimRequest, *, lease_seconds: float) -> ClaimReply:
        """Ask for work for the free devices; the answer may take `wait_ms`."""
        request = _post(self._claims, f"{self._host}/claim", claim)
        timeout_seconds = claim.wait_ms / 1000 + lease_seconds * ANSWER_SHARE
        with _incarnation_verdict():
            return await exchange(self._claims, request, ClaimReply, timeout_seconds=timeout_seconds)

    async def renew(
        self, lease_id: UUID, renewal: LeaseRenewalRequest, *, lease_seconds: float
    ) -> LeaseRenewalResponse:
        """Renew one lease. Raises `LeaseLost` only for a problem document that names this lease."""
        request = _post(self._renewals, f"leases/{lease_id}/renew", renewal)
        try:
            reply = await exchange(
                self._renewals, request, LeaseRenewalResponse, timeout_seconds=lease_seconds * ANSWER_SHARE
            )
        except Refused as refused:
            if refused.problem.code is ProblemCode.STALE_LEASE and _names(refused.problem, lease_id):
                raise LeaseLost(refused.problem.detail) from refused
            raise
        if reply.lease_id != lease_id:
            raise Unreachable(f"an answer about lease {reply.lease_id} came for lease {lease_id}")
        return reply

    async def renew_all(self, renewal: HostRenewalRequest, *, lease_seconds: float) -> HostRenewalResponse:
        """Renew many leases of this host; the answer may take `wait_ms`. Raises `CallUnknown` for an older version."""
        request = _post(self._renewals, f"{self._host}/renew", renewal)
        timeout_seconds = renewal.wait_ms / 1000 + lease_seconds * ANSWER_SHARE
        try:
            return await exchange(self._renewals, request, HostRenewalResponse, timeout_seconds=timeout_seconds)
        except Refused as refused:
            if refused.problem.code in _CALL_UNKNOWN:
                raise CallUnknown(refused.problem.detail) from refused
            raise

    async def report(
        self, lease_id: UUID, report: TerminalResultRequest, *, task_id: UUID, timeout_seconds: float
    ) -> TerminalResultResponse:
        """Deliver what came of a run. Raises `ReportRefused` if the control plane will never record it."""
        request = _post(self._rest, f"leases/{lease_id}/result", report)
        try:
            reply = await exchange(self._rest, request, TerminalResultResponse, timeout_seconds=timeout_seconds)
        except Refused as refused:
            if refused.problem.code in _FINAL_FOR_A_REPORT and _is_about(refused.problem, lease_id):
                raise ReportRefused(refused.problem) from refused
            raise
        if reply.task_id != task_id:
            raise Unreachable(f"an answer about task {reply.task_id} came for task {task_id}")
        return reply

    async def upload_artifact(self, lease_id: UUID, name: str, content: bytes, *, media_type: str) -> ArtifactStored:
        request = self._rest.build_request(
            "PUT",
            f"leases/{lease_id}/artifacts/{quote(name, safe='')}",
            content=content,
            headers={"content-type": media_type},
        )
        return await exchange(self._rest, request, ArtifactStored, timeout_seconds=UPLOAD_SECONDS)


def _trusted(api_url: str) -> ssl.SSLContext:
    """Whom to believe over TLS. Reading all the certificates takes a while; without TLS nobody need be believed."""
    is_encrypted = urlsplit(api_url).scheme == "https"
    return httpx.create_ssl_context() if is_encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _internal(api_url: str) -> str:
    return f"{api_url.rstrip('/')}/internal/v1/"


def _post(http: httpx.AsyncClient, path: str, body: BaseModel) -> httpx.Request:
    headers = {"content-type": "application/json"}
    return http.build_request("POST", path, content=body.model_dump_json().encode(), headers=headers)


@contextmanager
def _incarnation_verdict() -> Generator[None]:
    try:
        yield
    except Refused as refused:
        if refused.problem.code is ProblemCode.STALE_INCARNATION:
            raise StaleIncarnation(refused.problem.detail) from refused
        raise


def _names(problem: Problem, lease_id: UUID) -> bool:
    return problem.context.get("lease_id") == str(lease_id)


def _is_about(problem: Problem, lease_id: UUID) -> bool:
    """A refusal of a report's form cannot name what it was about; one of its content names its lease."""
    return problem.code in {ProblemCode.INVALID_REQUEST, ProblemCode.BODY_TOO_LARGE} or _names(problem, lease_id)
