"""What the routes stand on, made once by the application factory and handed to each handler that asks for it."""

from dataclasses import dataclass, field
from typing import Annotated
from uuid import UUID

from anyio import CapacityLimiter
from fastapi import Depends
from starlette.requests import Request

from control.api.fleet_gauges import FleetGauges
from control.api.shared_look import SharedLook
from control.operations.keys import Principal
from control.operations.plane import Plane
from control.renewals.callers import Callers
from control.renewals.renewals import Renewals
from control.signals.listener import WakeupListener
from control.signals.tokens import VerifiedTokens

#: Claims and uploads have threads of their own: however many wait or trickle, the other calls find theirs free.
CLAIM_THREADS = 4
UPLOAD_THREADS = 8


@dataclass(frozen=True, slots=True)
class Edge:
    plane: Plane
    listener: WakeupListener
    renewals: Renewals
    callers: Callers
    #: Whose keys and credentials this process has verified lately; keys stand for their principal, hosts for their id.
    keys: VerifiedTokens[Principal]
    hosts: VerifiedTokens[UUID]
    #: The token with which hosts enrol; None lets no host join.
    join_token: str | None
    #: The schema revision that this code needs.
    head_revision: str
    fleet_gauges: FleetGauges
    claim_threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(CLAIM_THREADS))
    #: Shared by all claims that wait in this process.
    shared_look: SharedLook = field(default_factory=SharedLook)
    upload_threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(UPLOAD_THREADS))

    def drop_token(self, token_id: str) -> None:
        """What was verified for this key or host is void."""
        self.keys.drop(token_id)
        self.hosts.drop(token_id)

    def drop_all_tokens(self) -> None:
        """What was revoked lately may not have been heard of."""
        self.keys.clear()
        self.hosts.clear()


async def _edge(request: Request) -> Edge:
    return request.app.state.edge


async def _plane(request: Request) -> Plane:
    return request.app.state.edge.plane


TheEdge = Annotated[Edge, Depends(_edge)]
ThePlane = Annotated[Plane, Depends(_plane)]
