"""The whole of Corral on one machine, out of wheels: what starts in which order, and when it is ready.

    Postgres, Valkey ─► schema, key ─► API, jobs, beat ─► phones ─► hosts ─► every host online, every phone ready

Ended in the reverse order: the hosts drain while all that they need is still there.
"""

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from corral.client import Corral, CorralError
from corral.contract.fleet import ApiKeyRequest, Scope
from corral.stack.parts import CorralPart
from corral.stack.ports import LOOPBACK, is_free, usual_port
from corral.stack.postgres import EmbeddedPostgres
from corral.stack.state_folder import Ports, ReadyInfo, Secrets, StackFolder, ready_json, write_private
from corral.stack.stop_request import StopRequest
from corral.stack.supervisor import StartFailed, Supervisor
from corral.stack.valkey import EmbeddedValkey

#: An adb server and its phones need seconds; a machine that is busy with other things needs more of them.
READY_LIMIT_SECONDS = 90.0
#: A person who pressed Ctrl-C waits for this. Work that is cut off runs again the next time.
DRAIN_LIMIT_SECONDS = 3.0
_HOST_STOP_LIMIT_SECONDS = 15.0
_STOP_LIMIT_SECONDS = 10.0
_DATABASE_STOP_LIMIT_SECONDS = 20.0
_DATABASE = "corral"


@dataclass(frozen=True, slots=True)
class StackOptions:
    """How large the stack is. `port` 0 picks one; `lease_seconds` None is the API's own default."""

    port: int = 7700
    phones: int = 2
    hosts: int = 1
    lease_seconds: float | None = None


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
        self._info_files = [folder.running_file, *([ready_file.absolute()] if ready_file else [])]
        self._postgres = EmbeddedPostgres(folder.path / "postgres")
        self._valkey = EmbeddedValkey(folder.path / "valkey")
        self._secrets = folder.secrets(Secrets(join_token=secrets.token_urlsafe(24)))
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
        ports = self._choose_ports()
        self._announce("starting Postgres and Valkey")
        self._supervisor.start(self._postgres, self._valkey, stop_limit_seconds=_DATABASE_STOP_LIMIT_SECONDS)
        self._announce("preparing the database")
        seen_before = self._prepare_database()
        self._announce("starting API, jobs, beat, hosts and phones")
        services = self._services(ports)
        self._supervisor.start(*services, stop_limit_seconds=_STOP_LIMIT_SECONDS)
        self._supervisor.start(*self._phones(ports), stop_limit_seconds=_STOP_LIMIT_SECONDS)
        self._supervisor.start(*self._hosts(ports), stop_limit_seconds=_HOST_STOP_LIMIT_SECONDS)
        with Corral(f"http://{LOOPBACK}:{ports.api}", self._api_key) as corral:
            self._wait_until_ready(corral, services, seen_before)
        self._info = self._describe(ports)
        self._write_info()
        return self._described()

    def run(self) -> None:
        """Keep it running until a stop is asked for."""
        self._supervisor.run()

    def stop(self) -> None:
        """End everything that was started."""
        self._info = None
        self._folder.running_file.unlink(missing_ok=True)
        self._supervisor.stop()

    @property
    def _api_key(self) -> str:
        if self._secrets.api_key is None:
            raise RuntimeError("the database is prepared first: it makes the key")
        return self._secrets.api_key

    def _choose_ports(self) -> Ports:
        last, options = self._folder.ports(), self._options
        if options.port and not is_free(options.port):
            raise StartFailed(f"port {options.port} is taken by another program; give --port, where 0 picks a free one")
        groups = {name: usual_port(last.phones.get(name), count=count) for name, count in self._phone_groups().items()}
        ports = Ports(api=options.port or usual_port(last.api), phones=last.phones | groups)
        self._folder.keep_ports(ports)
        return ports

    def _phone_groups(self) -> dict[str, int]:
        """How many phones each host has, by the name of the process that serves them."""
        hosts, phones = self._options.hosts, self._options.phones
        counts = [phones // hosts + (number < phones % hosts) for number in range(hosts)]
        return {f"phones-{number}": count for number, count in enumerate(counts, start=1) if count}

    def _prepare_database(self) -> dict[str, datetime | None]:
        """Bring the schema up and make sure of the key; answers when each host was last seen in former lives."""
        # Imported late: an SDK that only asks where a stack runs needs no SQLAlchemy.
        from control.store.schema import migrate
        from corral.stack.plane import create_first_key, hosts_last_seen, is_known

        self._postgres.ensure_database(_DATABASE)
        url = self._postgres.url(_DATABASE)
        migrate(url)
        if self._secrets.api_key is None or not is_known(url, self._secrets.api_key):
            key = create_first_key(url, ApiKeyRequest(name="up", scopes=list(Scope)))
            self._secrets = self._secrets.model_copy(update={"api_key": key.api_key})
        self._folder.keep_secrets(self._secrets)
        return hosts_last_seen(url)

    def _services(self, ports: Ports) -> list[CorralPart]:
        env = {
            "CORRAL_DATABASE_URL": self._postgres.url(_DATABASE),
            "CORRAL_REDIS_URL": self._valkey.url,
            "CORRAL_JOIN_TOKEN": self._secrets.join_token,
            "CORRAL_ARTIFACTS_DIR": str(self._folder.path / "artifacts"),
            "CORRAL_HOST": LOOPBACK,
            "CORRAL_PORT": str(ports.api),
        }
        if self._options.lease_seconds is not None:
            env["CORRAL_LEASE_SECONDS"] = str(self._options.lease_seconds)
        return [
            self._part("api", "api", env=env),
            self._part("jobs", "jobs", env=env, started_with=b"jobs.started"),
            self._part("beat", "beat", env=env, started_with=b"beat.started"),
        ]

    def _phones(self, ports: Ports) -> list[CorralPart]:
        parts: list[CorralPart] = []
        first_serial = 1
        for name, count in self._phone_groups().items():
            numbers = {"--count": count, "--base-port": ports.phones[name], "--first-serial": first_serial}
            arguments = [text for option, number in numbers.items() for text in (option, str(number))]
            log_dir = str(self._folder.path / "phones")
            parts.append(self._part(name, "phone", *arguments, "--log-dir", log_dir, env={}))
            first_serial += count
        return parts

    def _hosts(self, ports: Ports) -> list[CorralPart]:
        counts = self._phone_groups()
        parts: list[CorralPart] = []
        for number in range(1, self._options.hosts + 1):
            name, phones = f"host-{number}", f"phones-{number}"
            first_port = ports.phones.get(phones, 0)
            env = {
                "CORRAL_API_URL": f"http://{LOOPBACK}:{ports.api}",
                "CORRAL_JOIN_TOKEN": self._secrets.join_token,
                "CORRAL_HOST_NAME": name,
                "CORRAL_HOST_STATE_DIR": str(self._folder.path / "hosts" / name),
                "CORRAL_HOST_ADB_CONNECT": ",".join(
                    f"{LOOPBACK}:{first_port + offset}" for offset in range(counts.get(phones, 0))
                ),
                "CORRAL_HOST_DRAIN_LIMIT_SECONDS": str(DRAIN_LIMIT_SECONDS),
            }
            parts.append(self._part(name, "host", env=env))
        return parts

    def _part(self, name: str, *command: str, env: dict[str, str], started_with: bytes = b"") -> CorralPart:
        log_file = self._folder.logs / f"{name}.log"
        return CorralPart(name, *command, env=os.environ | env, log_file=log_file, started_with=started_with)

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

    def _describe(self, ports: Ports) -> ReadyInfo:
        return ReadyInfo(
            api_url=f"http://{LOOPBACK}:{ports.api}",
            api_key=self._api_key,
            join_token=self._secrets.join_token,
            database_url=self._postgres.url(_DATABASE),
            redis_url=self._valkey.url,
            state_dir=str(self._folder.path),
            pids={},
        )

    def _described(self) -> ReadyInfo:
        if self._info is None:
            raise RuntimeError("the stack is not up")
        return self._info.model_copy(update={"pids": {"up": os.getpid()} | self._supervisor.pids})

    def _write_info(self) -> None:
        """The process ids change when a part is started again."""
        if self._info is not None:
            for file in self._info_files:
                write_private(file, ready_json(self._described()))

    def _forget_info(self) -> None:
        for file in self._info_files:
            file.unlink(missing_ok=True)
