"""Only what the control plane itself wrote, about this lease, is a verdict."""

import asyncio
import json
import uuid

import pytest

from corral.contract.host_protocol import (
    ClaimRequest,
    Heartbeat,
    HeldLease,
    HostRenewalRequest,
    LeaseRenewalRequest,
    TerminalResultRequest,
)
from corral.contract.identifiers import uuid7
from tests.workers.host.far_side import HOST_ID, Dropped, FarSide, Hanging, Lease, Page, problem, renewal
from workers.control_client.client import ControlClient
from workers.control_client.verdicts import (
    CallUnknown,
    CredentialRefused,
    LeaseLost,
    NotOurs,
    ReportRefused,
    StaleIncarnation,
    Unreachable,
)

pytestmark = pytest.mark.anyio

LEASE_ID = uuid.UUID(int=1)
OTHER_ID = uuid.UUID(int=2)
TASK_ID = uuid.UUID(int=3)
JSON = (("content-type", "application/json"),)


@pytest.fixture
async def client(far_side):
    async with ControlClient(far_side.url, host_id=HOST_ID, credential="made-up") as client:
        yield client


def our_problem(status: int, code: str, **context) -> Page:
    _, body = problem(status, code, **context)
    return Page(status, json.dumps(body), JSON)


def renewal_of(lease_id: uuid.UUID) -> Page:
    lease = Lease(str(lease_id), str(TASK_ID), "A", expires_at=0)
    return Page(200, json.dumps(renewal(lease, 30.0, 10_000)), JSON)


async def renew(client: ControlClient, *, lease_seconds: float = 6.0):
    return await client.renew(LEASE_ID, LeaseRenewalRequest(), lease_seconds=lease_seconds)


STRANGERS = {
    "a proxy's 403": Page(403),
    "a proxy's 404": Page(404),
    "a proxy's 409": Page(409),
    "a proxy's 401": Page(401),
    "a captive portal's 200": Page(200),
    "an empty 200": Page(200, ""),
    "a 200 of another API": Page(200, '{"ok": true}', JSON),
    "a 204": Page(204, ""),
    "a redirect": Page(302, "", (("location", "http://127.0.0.1:9/login"),)),
    "a 502": Page(502),
    "a 404 of another API": Page(404, '{"detail": "Not Found"}', JSON),
    "a 409 of another API": Page(409, '{"detail": "stale_lease"}', JSON),
    "another lease's verdict": our_problem(409, "stale_lease", lease_id=str(OTHER_ID)),
    "a verdict about no lease": our_problem(409, "stale_lease"),
    "a problem that contradicts its status": Page(404, our_problem(409, "stale_lease", lease_id=str(LEASE_ID)).body),
    "a code that we do not know": Page(
        409, our_problem(409, "stale_lease").body.replace("stale_lease", "lease_is_purple"), JSON
    ),
    "our own failure": our_problem(500, "internal_error", lease_id=str(LEASE_ID)),
    "another lease's renewal": renewal_of(OTHER_ID),
    "a closed connection": Dropped,
}


@pytest.mark.parametrize("stranger", STRANGERS.values(), ids=STRANGERS.keys())
async def test_what_a_stranger_says_about_a_lease_is_no_verdict(client, far_side, stranger):
    far_side.order("renew", stranger)
    with pytest.raises(Unreachable):
        await renew(client)


async def test_silence_is_no_verdict_and_ends_with_a_sixth_of_the_lease(client, far_side):
    far_side.order("renew", Hanging)
    with pytest.raises(Unreachable, match=r"no complete answer within 0\.10 s"):
        await renew(client, lease_seconds=0.6)


async def test_a_control_plane_that_is_not_there_is_unreachable():
    async with ControlClient("http://127.0.0.1:9", host_id=HOST_ID, credential="x") as client:
        with pytest.raises(Unreachable):
            await renew(client)


async def test_a_stale_lease_by_name_is_lost(client, far_side):
    far_side.order("renew", our_problem(409, "stale_lease", lease_id=str(LEASE_ID)))
    with pytest.raises(LeaseLost):
        await renew(client)


async def renew_all(client: ControlClient):
    renewal = HostRenewalRequest(leases=[HeldLease(lease_id=LEASE_ID)], wait_ms=100)
    return await client.renew_all(renewal, lease_seconds=6)


@pytest.mark.parametrize(("status", "code"), [(404, "route_not_found"), (405, "method_not_allowed")])
async def test_a_call_that_an_older_control_plane_does_not_have_is_unknown(client, far_side, status, code):
    far_side.order("renew_all", our_problem(status, code))
    with pytest.raises(CallUnknown):
        await renew_all(client)


@pytest.mark.parametrize("stranger", [Page(404), Page(405), Page(200), STRANGERS["a 404 of another API"]])
async def test_a_stranger_cannot_say_that_a_call_is_unknown(client, far_side, stranger):
    far_side.order("renew_all", stranger)
    with pytest.raises(NotOurs):
        await renew_all(client)


async def test_our_401_refuses_the_credential(client, far_side):
    far_side.order("renew", our_problem(401, "unauthenticated"))
    with pytest.raises(CredentialRefused):
        await renew(client)


async def test_a_later_life_of_the_host_is_told_by_heartbeat_and_claim(client, far_side):
    far_side.always = dict.fromkeys(("heartbeat", "claim"), our_problem(409, "stale_incarnation"))
    with pytest.raises(StaleIncarnation):
        await client.heartbeat(Heartbeat(incarnation=uuid7()), timeout_seconds=5)
    with pytest.raises(StaleIncarnation):
        await client.claim(
            ClaimRequest(claim_id=uuid7(), incarnation=uuid7(), free_devices=["A"], wait_ms=0), lease_seconds=6
        )


async def report(client: ControlClient):
    return await client.report(LEASE_ID, TerminalResultRequest(status="done"), task_id=TASK_ID, timeout_seconds=5)


@pytest.mark.parametrize("code", ["stale_lease", "result_conflict", "cancel_not_requested"])
async def test_a_report_is_refused_by_a_problem_that_names_the_lease(client, far_side, code):
    far_side.order("result", our_problem(409, code, lease_id=str(LEASE_ID)))
    with pytest.raises(ReportRefused, match=code):
        await report(client)


@pytest.mark.parametrize(("status", "code"), [(422, "invalid_request"), (413, "body_too_large")])
async def test_a_report_that_can_never_be_read_is_refused(client, far_side, status, code):
    far_side.order("result", our_problem(status, code))
    with pytest.raises(ReportRefused, match=code):
        await report(client)


@pytest.mark.parametrize(
    "stranger",
    [
        Page(409),
        our_problem(409, "result_conflict", lease_id=str(OTHER_ID)),
        our_problem(409, "cancel_not_requested", task_id=str(TASK_ID)),
        our_problem(503, "not_ready"),
        Page(200, json.dumps({"status": "recorded", "task_id": str(OTHER_ID), "task_status": "done"}), JSON),
    ],
    ids=["a proxy's page", "another lease", "no lease", "not ready", "another task"],
)
async def test_what_a_stranger_says_about_a_report_leaves_it_undelivered(client, far_side, stranger):
    far_side.order("result", stranger)
    with pytest.raises(Unreachable):
        await report(client)


async def test_a_renewal_waits_for_no_claim_and_no_upload(client, far_side):
    far_side.always = dict.fromkeys(("claim", "artifact"), Hanging)
    far_side.order("renew", renewal_of(LEASE_ID))
    claim = ClaimRequest(claim_id=uuid7(), incarnation=uuid7(), free_devices=["A"], wait_ms=20_000)
    busy = [asyncio.create_task(client.claim(claim, lease_seconds=6)) for _ in range(20)]
    busy += [
        asyncio.create_task(client.upload_artifact(LEASE_ID, f"{number}.png", b"x", media_type="image/png"))
        for number in range(120)
    ]
    try:
        reply = await renew(client, lease_seconds=60)
    finally:
        for call in busy:
            call.cancel()
        await asyncio.gather(*busy, return_exceptions=True)
    assert reply.lease_id == LEASE_ID


async def test_an_artifact_keeps_its_name_and_its_bytes(client, far_side: FarSide):
    stored = await client.upload_artifact(LEASE_ID, "home.png", b"\x89PNG", media_type="image/png")
    assert stored.size_bytes == 4
    assert far_side.artifacts == {"home.png": b"\x89PNG"}
