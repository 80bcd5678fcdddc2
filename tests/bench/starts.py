"""How long each process needs from its start until it does what it is there for."""

import json
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import redis

from control.jobs.schedule import JobQueue
from control.operations.plane import Job
from tests.bench.row import Row
from tests.bench.stand import Stand, listens

#: Each takes seconds, and they differ little.
STARTS = 3
FLOOR = "start_bare_asgi"
_READY = "SELECT count(*) FROM devices JOIN hosts USING (host_id) WHERE hosts.name = 'measured' AND state = 'ready'"


@dataclass(frozen=True)
class _Start:
    name: str
    arguments: tuple[str, ...]
    is_up: Callable[[], bool]
    before: Callable[[], object] = lambda: None
    env: Mapping[str, str] | None = None


def start_rows(stand: Stand) -> list[Row]:
    """Each process in turn, all of them several times; the API runs while the others start."""
    stand.programs["api"].stop()
    with redis.Redis.from_url(stand.valkey.url) as client:
        starts = _starts(stand, client)
        seconds: dict[str, list[float]] = {f"start_{start.name}": [] for start in starts}
        for _ in range(STARTS):
            for start in starts:
                seconds[f"start_{start.name}"].append(_seconds(stand, start))
            for start in reversed(starts):
                stand.programs[start.name].stop()
    floor = statistics.median(seconds[FLOOR])
    rows: list[Row] = []
    for name, taken in seconds.items():
        median = statistics.median(taken)
        beside = {"floor": FLOOR, "ratio": median / floor} if name != FLOOR else {}
        rows.append(Row(name, {"p50_ms": median * 1000, "max_ms": max(taken) * 1000, **beside}))
    return rows


def _starts(stand: Stand, client: "redis.Redis") -> list[_Start]:
    plane = stand.open_plane(pool_size=1)
    phone_address, beat_log = stand.folder / "phone-address", stand.folder / "beat.log"
    bare = ("tests.bench.bare_server", str(stand.bare_port))
    return [
        _Start("bare_asgi", bare, lambda: listens(stand.bare_port)),
        _Start("api", ("corral", "api"), lambda: listens(stand.port)),
        # A ring waits for the jobs: they are up when they have taken it.
        _Start(
            "jobs",
            ("corral", "jobs"),
            lambda: client.llen(JobQueue.JOBS.value) == 0,
            before=lambda: _ring(client, lambda: plane.doorbell.ring(Job.ASSIGN_TASKS)),
        ),
        _Start("beat", ("corral", "beat"), lambda: "beat.started" in beat_log.read_text()),
        _Start(
            "phone",
            ("corral", "phone", "--base-port", "0", "--ready-file", str(phone_address)),
            phone_address.exists,
            before=lambda: phone_address.unlink(missing_ok=True),
        ),
        _host(stand, phone_address),
    ]


def _ring(client: "redis.Redis", ring: Callable[[], None]) -> None:
    client.flushdb()
    ring()
    assert client.llen(JobQueue.JOBS.value) == 1


def _host(stand: Stand, phone_address: Path) -> _Start:
    env = {
        "CORRAL_API_URL": f"http://127.0.0.1:{stand.port}",
        "CORRAL_HOST_NAME": "measured",
        "CORRAL_HOST_STATE_DIR": str(stand.folder / "measured"),
        "CORRAL_HOST_ADB_FINDS_USB": "false",
        "CORRAL_HOST_ADB_FINDS_EMULATORS": "false",
    }
    return _Start(
        "host",
        ("corral", "host"),
        lambda: bool(stand.value(_READY)),
        before=lambda: (
            env.update(CORRAL_HOST_ADB_CONNECT=json.loads(phone_address.read_text())["phones"][0]["address"]),
            stand.run("UPDATE devices SET state = 'absent' WHERE serial NOT LIKE 'D%'"),
        ),
        env=env,
    )


def _seconds(stand: Stand, start: _Start) -> float:
    start.before()
    began = time.monotonic()
    program = stand.start(start.name, *start.arguments, env=start.env)
    program.wait_until(start.is_up)
    return time.monotonic() - began
