"""The application factory, and what `corral api` starts."""

import gc
import signal
from collections.abc import Sequence
from importlib.metadata import version

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from fastapi.telemetry import TelemetryConfig

from control.api import artifacts, claim, fleet, health, host_calls, keys, tasks, uploads
from control.api.body_limit import BodyLimit
from control.api.failures import answer_failures
from control.api.openapi import describe
from control.api.request_log import RequestLog, show_failures
from control.app.edge import make_edge
from control.app.lifespan import lifespan_of
from control.app.plane import api_plane
from control.app.server import api_server
from control.app.settings import Settings
from control.jobs.schedule import ScheduledJob, scheduled_jobs
from control.operations.plane import Plane
from corral.collector import collect_seldom

#: FastAPI's own tells of requests, not of tasks, and with what was wrong in them: what people typed, and secrets.
_NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}

#: The calls that come most often stand first: routes are tried one after the other.
ROUTERS: tuple[APIRouter, ...] = (
    claim.router,
    host_calls.router,
    tasks.router,
    artifacts.router,
    fleet.router,
    keys.router,
    uploads.router,
    health.router,
)


def create_app(settings: Settings, plane: Plane, *, sweeps: Sequence[ScheduledJob] | None = None) -> FastAPI:
    """The application over a plane. It ends the plane's database connections when it ends.

    `sweeps` are the jobs that it runs when nobody else does: all, where nothing is said.
    """
    edge = make_edge(settings, plane)
    watched = scheduled_jobs(settings.timing) if sweeps is None else sweeps
    app = FastAPI(
        title="Corral",
        version=version("corral"),
        # The pages would load scripts from elsewhere; the document is enough for every tool.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_NO_TELEMETRY,
        generate_unique_id_function=_operation_id,
        lifespan=lifespan_of(edge, request_threads=settings.pool_size, sweeps=watched),
    )
    app.state.edge = edge
    for router in ROUTERS:
        app.include_router(router)
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    answer_failures(app, routes)
    show_failures(route.path for route in routes)
    app.openapi = lambda: describe(app)
    # The last one added is the outermost.
    app.add_middleware(BodyLimit, max_artifact_bytes=plane.artifacts.max_bytes)
    app.add_middleware(RequestLog)
    return app


def _operation_id(route: APIRoute) -> str:
    return f"{route.tags[0]}_{route.name}".replace(" ", "_")


def run_api(settings: Settings) -> None:
    """Serve until SIGTERM or Ctrl-C; what is held is answered at once then, so that no host loses an answer."""
    server = api_server(create_app(settings, api_plane(settings)), settings)
    spare_the_collector()
    for number in (signal.SIGINT, signal.SIGTERM):
        # uvicorn raises its signal once more when it has ended, and a process that ended in order should say so.
        signal.signal(number, _do_nothing)
    server.run()


def spare_the_collector() -> None:
    """What is there now stays for good, and requests leave few cycles behind: looking for them takes a third of a core.

    Each collection would go through all that was imported, several times in each thousand of renewals.
    """
    gc.collect()
    gc.freeze()
    collect_seldom()


def _do_nothing(_number: int, _frame: object) -> None: ...
