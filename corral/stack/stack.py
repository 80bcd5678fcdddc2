"""The whole of Corral on one machine, out of wheels: what starts in which order, and when it is ready.

    Postgres, Valkey ─► schema, key ─► API, jobs, beat ─► phones ─► hosts ─► every host online, every phone ready

Ended in the reverse order: the hosts drain while all that they need is still there.
"""

import os
import secrets
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from corral.client import Corral, CorralError
from corral.contract.fleet import ApiKeyRequest, Scope
from corral.stack.layout import Layout, StackOptions, choose_ports
from corral.stack.parts import CorralPart
from corral.stack.ports import is_free
from corral.stack.postgres import EmbeddedPostgres
from corral.stack.state_folder import ReadyInfo, Secrets, StackFolder, ready_json, write_private
from corral.stack.stop_request import StopRequest
from corral.stack.supervisor import StartFailed, Supervisor
from corral.stack.valkey import EmbeddedValkey

#: An adb server and its phones need seconds; a machine that is busy with other things needs more of them.
READY_LIMIT_SECONDS = 90.0
_HOST_STOP_LIMIT_SECONDS = 15.0
_STOP_LIMIT_SECONDS = 10.0
_DATABASE_STOP_LIMIT_SECONDS = 20.0
_DATABASE = "corral"


class Stack:
    """One life of a stack on a folder that its caller holds the lock of."""

    def __init__(
        self,
        folder: StackFolder,
        options: StackOptions,
        *,
        stop_request: StopRequest,
        announce: Callable[[str], None],
        ready_file: Path | None = None,
    ) -> None:
        self._folder = folder
        self._options = options
        self._announce = announce
        self._stop_request = stop_request
        self._info_files = [folder.running_file, *([ready_file.absolute()] if ready_file else [])]
        self._postgres = EmbeddedPostgres(folder.path / "postgres")
        self._valkey = EmbeddedValkey(folder.path / "valkey")
        self._secrets = folder.secrets(Secrets(join_token=secrets.token_urlsafe(24)))
        if options.has_flower and self._secrets.flower_password is None:
            self._secrets.flower_password = secrets.token_urlsafe(12)
        self._info: ReadyInfo | None = None
        self._supervisor = Supervisor(stop_request=stop_request, announce=announce, on_change=self._write_info)

    def start(self) -> ReadyInfo:
        """Bring everything up, and return once tasks can be run.

        Raises:
            StartFailed: a part did not come up, or a port is taken.
            EmbeddedPostgresError, EmbeddedValkeyError: the same of these two.
            StopAsked: before it was done.
        """
        self._forget_info()
        layout = self._lay_out()
        self._announce("starting Postgres and Valkey")
        self._supervisor.start(self._postgres, self._valkey, stop_limit_seconds=_DATABASE_STOP_LIMIT_SECONDS)
        self._announce("preparing the database")
        api_key, seen_before = self._prepare_database()
        self._announce("starting API, jobs, beat, hosts and phones")
        services = layout.services(database_url=self._postgres.url(_DATABASE), redis_url=self._valkey.url)
        self._supervisor.start(*services, stop_limit_seconds=_STOP_LIMIT_SECONDS)
        self._supervisor.start(*layout.phones(), stop_limit_seconds=_STOP_LIMIT_SECONDS)
        self._supervisor.start(*layout.hosts(), stop_limit_seconds=_HOST_STOP_LIMIT_SECONDS)
        with Corral(layout.api_url, api_key) as corral:
            self._wait_until_ready(corral, services, seen_before)
        self._info = ReadyInfo(
            api_url=layout.api_url,
            api_key=api_key,
            join_token=layout.join_token,
            database_url=self._postgres.url(_DATABASE),
            redis_url=self._valkey.url,
            state_dir=str(self._folder.path),
            pids={},
            flower_url=layout.flower_url,
            flower_password=layout.flower_password,
        )
        self._write_info()
        return self._info

    def look_after(self) -> None:
        """Start again what died; for callers with a loop of their own.

        Raises:
            StopAsked: a stop was asked for.
        """
        self._stop_request.check()
        self._supervisor.look_after()

    def run(self) -> None:
        """Keep it running until a stop is asked for."""
        self._supervisor.run()

    def stop(self) -> None:
        """End everything that was started."""
        self._forget_info()
        self._supervisor.stop()

    def _lay_out(self) -> Layout:
        options = self._options
        if options.port and not is_free(options.port):
            raise StartFailed(f"port {options.port} is taken by another program; give --port, where 0 picks a free one")
        ports = choose_ports(options, last=self._folder.ports())
        self._folder.keep_ports(ports)
        password = self._secrets.flower_password if options.has_flower else None
        return Layout(self._folder, options, ports, self._secrets.join_token, password)

    def _prepare_database(self) -> tuple[str, dict[str, datetime | None]]:
        """Bring the schema up and make sure of the key; answers it, and when each host was seen in former lives."""
        # Imported late: a command that only asks where a stack runs needs no SQLAlchemy.
        from control.store.schema import migrate
        from corral.stack.plane import create_first_key, hosts_last_seen, is_known

        self._postgres.ensure_database(_DATABASE)
        url = self._postgres.url(_DATABASE)
        migrate(url)
        api_key = self._secrets.api_key
        if api_key is None or not is_known(url, api_key):
            api_key = create_first_key(url, ApiKeyRequest(name="up", scopes=list(Scope))).api_key
        self._folder.keep_secrets(self._secrets.model_copy(update={"api_key": api_key}))
        return api_key, hosts_last_seen(url)

    def _wait_until_ready(
        self, corral: Corral, services: list[CorralPart], seen_before: dict[str, datetime | None]
    ) -> None:
        def is_ready() -> bool:
            return (
                all(part.has_started() for part in services)
                and corral.is_ready()
                and self._fleet_is_ready(corral, seen_before)
            )

        logs = self._folder.logs
        self._supervisor.wait_until(is_ready, what=f"the stack (logs in {logs})", limit_seconds=READY_LIMIT_SECONDS)

    def _fleet_is_ready(self, corral: Corral, seen_before: dict[str, datetime | None]) -> bool:
        try:
            fresh = {
                host.name
                for host in corral.hosts()
                if host.is_online and host.last_seen_at != seen_before.get(host.name)
            }
            ready = [device for device in corral.devices() if device.is_online and device.host_name in fresh]
        except CorralError:
            return False
        return len(fresh) >= self._options.hosts and len(ready) >= self._options.phones

    def _write_info(self) -> None:
        """The process ids change when a part is started again."""
        if self._info is not None:
            self._info.pids = {"up": os.getpid()} | self._supervisor.pids
            for file in self._info_files:
                write_private(file, ready_json(self._info))

    def _forget_info(self) -> None:
        """The files are there if and only if the stack is up."""
        self._info = None
        for file in self._info_files:
            file.unlink(missing_ok=True)
