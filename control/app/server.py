"""uvicorn as Corral runs it."""

import math
import socket

import structlog
import uvicorn
from fastapi import FastAPI

from control.api.edge import Edge
from control.api.failures import answer_failure
from control.app.settings import Settings
from control.renewals.routes import RenewalRoutes
from control.signals.listener import WakeupListener

log: structlog.stdlib.BoundLogger = structlog.get_logger()

#: Hosts and clients keep connections between polls; a server that closes them first loses requests in flight.
KEEP_ALIVE_SECONDS = 75


def api_server(app: FastAPI, settings: Settings) -> "ApiServer":
    """The server of an application; it takes no signals unless it runs in the main thread."""
    edge: Edge = app.state.edge
    config = uvicorn.Config(
        RenewalRoutes(app, renewals=edge.renewals, callers=edge.callers, answer_failure=answer_failure),
        host=settings.address,
        port=settings.port,
        loop="uvloop",
        http="httptools",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=math.ceil(settings.shutdown_seconds),
        # Our own middleware writes the lines.
        access_log=False,
        log_config=None,
        server_header=False,
        # Nothing here asks for the caller's address, and finding it behind proxies costs each request a little.
        proxy_headers=False,
    )
    return ApiServer(config, edge.listener)


class ApiServer(uvicorn.Server):
    """Ends held claims and renewals before it waits for the requests that are open."""

    def __init__(self, config: uvicorn.Config, listener: WakeupListener) -> None:
        super().__init__(config)
        self._listener = listener

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            opened = [one.getsockname() for server in self.servers for one in server.sockets]
            log.info("api.listening", addresses=[f"{address[0]}:{address[1]}" for address in opened])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._listener.end_holds()
        await super().shutdown(sockets)
