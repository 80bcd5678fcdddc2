"""Which processes a stack has, with which settings and on which ports."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from corral.stack.parts import CorralPart
from corral.stack.ports import LOOPBACK, usual_port
from corral.stack.state_folder import Ports, StackFolder

#: A person who pressed Ctrl-C waits for this. Work that is cut off runs again the next time.
DRAIN_LIMIT_SECONDS = 3.0
#: Where Flower is unless something else is there.
FLOWER_PORT = 7755
FLOWER_USER = "corral"


@dataclass(frozen=True, slots=True)
class StackOptions:
    """How large the stack is. `port` 0 picks one; `lease_seconds` None is the API's own default."""

    port: int = 7700
    phones: int = 2
    hosts: int = 1
    lease_seconds: float | None = None
    #: Whether the first host also works with this machine's own phones. Nobody wants a demo to drive theirs.
    finds_phones: bool = False
    #: Whether Flower runs too, with the bridge that tells it of hosts and tasks.
    has_flower: bool = False

    def phone_groups(self) -> dict[str, int]:
        """How many phones each host has, by the name of the process that serves them."""
        counts = [self.phones // self.hosts + (number < self.phones % self.hosts) for number in range(self.hosts)]
        return {f"phones-{number}": count for number, count in enumerate(counts, start=1) if count}


@dataclass(frozen=True, slots=True)
class Layout:
    """The processes of one stack."""

    folder: StackFolder
    options: StackOptions
    ports: Ports
    join_token: str
    flower_password: str | None = None

    @property
    def api_url(self) -> str:
        return f"http://{LOOPBACK}:{self.ports.api}"

    @property
    def flower_url(self) -> str | None:
        return f"http://{LOOPBACK}:{self.ports.flower}/" if self.options.has_flower else None

    def services(self, *, database_url: str, redis_url: str) -> list[CorralPart]:
        """API, jobs, beat and, where Flower runs, the bridge, with the same settings; and Flower."""
        env = {
            "CORRAL_DATABASE_URL": database_url,
            "CORRAL_REDIS_URL": redis_url,
            "CORRAL_JOIN_TOKEN": self.join_token,
            "CORRAL_ARTIFACTS_DIR": str(self.folder.path / "artifacts"),
            "CORRAL_ADDRESS": LOOPBACK,
            "CORRAL_PORT": str(self.ports.api),
        }
        if self.options.lease_seconds is not None:
            env["CORRAL_LEASE_SECONDS"] = str(self.options.lease_seconds)
        parts = [
            self._part("api", "api", env=env),
            self._part("jobs", "jobs", env=env, started_with=b"jobs.started"),
            self._part("beat", "beat", env=env, started_with=b"beat.started"),
        ]
        if self.options.has_flower:
            parts.append(self._part("bridge", "bridge", env=env, started_with=b"bridge.started"))
            parts.append(self._flower(redis_url))
        return parts

    def _flower(self, redis_url: str) -> CorralPart:
        env = {
            "CORRAL_REDIS_URL": redis_url,
            "CORRAL_FLOWER_ADDRESS": LOOPBACK,
            "CORRAL_FLOWER_PORT": str(self.ports.flower),
            "CORRAL_FLOWER_USERS": f"{FLOWER_USER}:{self.flower_password}",
            "CORRAL_FLOWER_URL_PREFIX": "",
        }
        return self._part("flower", "flower", env=env, started_with=b"flower.listening")

    def phones(self) -> list[CorralPart]:
        """One process for the phones of each host."""
        parts: list[CorralPart] = []
        first_serial = 1
        for name, count in self.options.phone_groups().items():
            numbers = {"--count": count, "--base-port": self.ports.phones[name], "--first-serial": first_serial}
            arguments = [text for option, number in numbers.items() for text in (option, str(number))]
            parts.append(self._part(name, "phone", *arguments, "--log-dir", str(self.folder.path / "phones"), env={}))
            first_serial += count
        return parts

    def hosts(self) -> list[CorralPart]:
        return [self._host(number) for number in range(1, self.options.hosts + 1)]

    def _host(self, number: int) -> CorralPart:
        name, phones = f"host-{number}", f"phones-{number}"
        # One host alone: two would both offer the same phone.
        finds_phones = str(self.options.finds_phones and number == 1).lower()
        first_port, count = self.ports.phones.get(phones, 0), self.options.phone_groups().get(phones, 0)
        env = {
            "CORRAL_API_URL": self.api_url,
            "CORRAL_JOIN_TOKEN": self.join_token,
            "CORRAL_HOST_NAME": name,
            "CORRAL_HOST_STATE_DIR": str(self.folder.path / "hosts" / name),
            "CORRAL_HOST_ADB_CONNECT": ",".join(f"{LOOPBACK}:{first_port + offset}" for offset in range(count)),
            "CORRAL_HOST_ADB_FINDS_USB": finds_phones,
            "CORRAL_HOST_ADB_FINDS_EMULATORS": finds_phones,
            "CORRAL_HOST_DRAIN_LIMIT_SECONDS": str(DRAIN_LIMIT_SECONDS),
        }
        return self._part(name, "host", env=env)

    def _part(self, name: str, *command: str, env: Mapping[str, str], started_with: bytes = b"") -> CorralPart:
        return CorralPart(
            name,
            *command,
            # Colours are of no use in a file.
            env={**os.environ, "NO_COLOR": "1", **env},
            log_file=self.folder.logs / f"{name}.log",
            started_with=started_with,
        )


def choose_ports(options: StackOptions, *, last: Ports) -> Ports:
    """The ports of the last time where they are free, others where not; an API port that was asked for stays."""
    groups = {name: usual_port(last.phones.get(name), count=count) for name, count in options.phone_groups().items()}
    return Ports(
        api=options.port or usual_port(last.api),
        phones=last.phones | groups,
        flower=usual_port(last.flower or FLOWER_PORT) if options.has_flower else last.flower,
    )
