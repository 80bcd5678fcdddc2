"""Makes what the routes of an API process stand on, and has each part hear what concerns it."""

from dataclasses import replace
from uuid import UUID

from control.api.edge import Edge
from control.api.fleet_gauges import FleetGauges
from control.app.settings import Settings
from control.jobs.schedule import scheduled_jobs
from control.operations.keys import Principal
from control.operations.plane import Plane
from control.renewals.callers import Callers
from control.renewals.renewals import Renewals
from control.signals.lease_cache import LeaseCache
from control.signals.listener import WakeupListener
from control.signals.tokens import VerifiedTokens
from control.store.database import Database
from control.store.revision import head_revision


def make_edge(settings: Settings, plane: Plane) -> Edge:
    """The edge over a plane; nothing is connected yet."""
    redis_url = settings.redis_url.get_secret_value()
    listener = WakeupListener(redis_url)
    renewing = _renewing_plane(settings, plane)
    cache = LeaseCache(redis_url, lease_seconds=plane.timing.lease_seconds)
    keys = VerifiedTokens[Principal](is_connected=lambda: listener.is_connected)
    hosts = VerifiedTokens[UUID](is_connected=lambda: listener.is_connected)
    edge = Edge(
        plane=plane,
        listener=listener,
        renewals=Renewals(renewing, cache, listener),
        callers=Callers(plane, hosts),
        keys=keys,
        hosts=hosts,
        join_token=settings.join_token.get_secret_value() if settings.join_token else None,
        head_revision=head_revision(),
        fleet_gauges=FleetGauges(
            plane,
            periods_seconds={job.name: job.period_seconds for job in scheduled_jobs(plane.timing)},
            is_redis_connected=lambda: listener.is_connected,
        ),
    )
    listener.hear("token", edge.drop_token)
    listener.tell_gaps(edge.drop_all_tokens)
    return edge


def _renewing_plane(settings: Settings, plane: Plane) -> Plane:
    """The same plane with a connection for renewals alone: however busy the pool is, no lease waits for it."""
    database = Database.connect(
        settings.database_url.get_secret_value(),
        pool_size=1,
        application_name="corral renewals",
        is_for_one_thread=True,
    )
    return replace(plane, database=database)
