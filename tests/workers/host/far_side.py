"""A control plane for tests of the host: the real wire, no database, and faults to order.

It serves HTTP over real sockets from a thread of its own, so that nothing the host does can slow it down.
"""

import asyncio
import json
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import structlog

DEADLINE_SECONDS = 40.0
HOST_ID = uuid.UUID(int=0xC0)


@dataclass(frozen=True)
class Page:
    """An answer that somebody else gives."""

    status: int
    body: str = "<html>not yours</html>"
    headers: tuple[tuple[str, str], ...] = (("content-type", "text/html"),)


class Lost:
    """The request is carried out, its answer never arrives."""


class Dropped:
    """The connection ends before the request is carried out."""


class Hanging:
    """The request is read and never answered."""


@dataclass
class Call:
    route: str
    body: dict[str, Any]
    at: float
    subject: str


@dataclass
class Lease:
    lease_id: str
    task_id: str
    serial: str
    expires_at: float
    cancel_requested: bool = False
    is_ended: bool = False
    result: dict[str, Any] | None = None
    seen_at: float | None = None


@dataclass
class Task:
    task_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    serial: str | None = None
    cancel_requested: bool = False
    more: dict[str, Any] = field(default_factory=dict)


class FarSide:
    """What the host talks to. Tests read and change its attributes while it runs."""

    def __init__(self, *, lease_seconds: float = 6.0, renew_after_ms: int = 100) -> None:
        self.lease_seconds = lease_seconds
        self.renew_after_ms = renew_after_ms
        self.heartbeat_after_ms = 250
        self.drain_requested = False
        self.is_away = False
        self.incarnations: list[str] = []
        self.calls: list[Call] = []
        self.tasks: list[Task] = []
        self.leases: dict[str, Lease] = {}
        self.claims: dict[str, list[dict[str, Any]]] = {}
        #: An older control plane does not.
        self.claims_with_reports = False
        self.artifacts: dict[str, bytes] = {}
        self.expired: list[str] = []
        self.always: dict[str, Any] = {}
        #: False for a control plane of the version that renewed each lease alone.
        self.renews_together = True
        #: False for one of before there were cancels: no reply names them, and what came later is not found.
        self.knows_cancels = True
        self.other_leases: list[str] = []
        self.on_call: Callable[[Call], None] = lambda _call: None
        self._ordered: dict[str, list[Any]] = defaultdict(list)
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="far-side", daemon=True)
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def order(self, route: str, *faults: Any) -> None:
        """The next calls of this route meet these faults, one each."""
        self._ordered[route].extend(faults)

    def submit(self, serial: str | None = None, *, cancel_requested: bool = False, **more: Any) -> str:
        task = Task(serial=serial, cancel_requested=cancel_requested, more=more)
        self.tasks.append(task)
        return task.task_id

    def made(self, route: str) -> list[Call]:
        return [call for call in self.calls if call.route == route]

    def renewals_of(self, lease_id: str) -> list[Call]:
        """Each renewal that named the lease, alone or with others; its body is what was said of this lease."""
        told = []
        for call in self.calls:
            if call.route == "renew" and call.subject == lease_id:
                told.append(call)
            if call.route == "renew_all":
                told += [replace(call, body=held) for held in call.body["leases"] if held["lease_id"] == lease_id]
        return told

    def steps_told(self, task_id: str) -> set[int]:
        """The steps that renewals have named as the progress of the task."""
        leases = [lease.lease_id for lease in list(self.leases.values()) if lease.task_id == task_id]
        told = [call.body["progress"] for lease_id in leases for call in self.renewals_of(lease_id)]
        return {progress["step"] for progress in told if progress}

    def lease_of(self, task_id: str) -> Lease:
        return next(lease for lease in self.leases.values() if lease.task_id == task_id)

    def cancel(self, task_id: str) -> None:
        self.lease_of(task_id).cancel_requested = True

    # The server

    def start(self) -> None:
        self._thread.start()
        assert self._started.wait(DEADLINE_SECONDS)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(DEADLINE_SECONDS)
        assert not self._thread.is_alive()

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._run())

    async def _run(self) -> None:
        self._stop = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stop.wait()
        server.close()
        for connection in list(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._connections.add(task)
        try:
            while await self._answer_one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        path = head.split(" ", 2)[1].removeprefix("/internal/v1/")
        headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        content = await reader.readexactly(int(headers.get("content-length", 0)))
        if self.is_away:
            return False
        route, subject = _route(path)
        body = {"content": content} if route == "artifact" else json.loads(content or b"{}")
        call = Call(route, body, time.monotonic(), subject)
        self.calls.append(call)
        fault = self._ordered[route].pop(0) if self._ordered[route] else self.always.get(route)
        if fault is Dropped:
            return False
        if fault is Hanging:
            # Until the host gives up.
            return bool(await reader.read(1))
        if isinstance(fault, Page):
            return await _write(writer, fault.status, fault.body, fault.headers)
        if not self.knows_cancels and route in {"renew_all", "artifact"}:
            status, reply = problem(404, "route_not_found")
        else:
            status, reply = await getattr(self, f"_{route}")(call, reader)
        self.on_call(call)
        if fault is Lost or self.is_away:
            return False
        kind = "application/json" if status < 400 else "application/problem+json"
        text = json.dumps(reply if self.knows_cancels else _without_cancels(reply))
        return await _write(writer, status, text, (("content-type", kind),))

    # The calls

    async def _register(self, _call: Call, _reader: Any) -> tuple[int, Any]:
        return 200, {"host_id": str(HOST_ID), "credential": "made-up"}

    async def _heartbeat(self, call: Call, _reader: Any) -> tuple[int, Any]:
        incarnation = call.body["incarnation"]
        if incarnation in self.incarnations[:-1]:
            return problem(409, "stale_incarnation", incarnation=incarnation)
        if incarnation not in self.incarnations:
            for lease in self.leases.values():
                lease.is_ended = True
            self.incarnations.append(incarnation)
        return 200, {
            "draining": self.drain_requested,
            "heartbeat_after_ms": self.heartbeat_after_ms,
            "lease_seconds": self.lease_seconds,
        }

    async def _claim(self, call: Call, reader: asyncio.StreamReader) -> tuple[int, Any]:
        began = time.monotonic()
        while True:
            held_ms = int((time.monotonic() - began) * 1000)
            if claimed := self._claimed(call.body, held_ms):
                return 200, claimed
            if held_ms >= call.body["wait_ms"] or self._stop.is_set() or reader.at_eof():
                return 200, {"assignment": None, "held_ms": held_ms}
            await asyncio.sleep(0.005)

    def _claimed(self, claim: dict[str, Any], held_ms: int) -> dict[str, Any] | None:
        claim_id, free = claim["claim_id"], list(claim["free_devices"])
        if claim_id not in self.claims:
            given = []
            for task in list(self.tasks):
                if free and len(given) < claim["max_assignments"] and task.serial in {None, *free}:
                    self.tasks.remove(task)
                    serial = task.serial or free[0]
                    free.remove(serial)
                    given.append(self._dispatched(task, serial))
            if not given:
                return None
            self.claims[claim_id] = given
        first, *further = [self._as_it_is_now(given) for given in self.claims[claim_id]]
        return {"assignment": first, "further_assignments": further, "held_ms": held_ms}

    def _dispatched(self, task: Task, serial: str) -> dict[str, Any]:
        lease = Lease(
            lease_id=str(uuid.uuid4()),
            task_id=task.task_id,
            serial=serial,
            expires_at=time.monotonic() + self.lease_seconds,
            cancel_requested=task.cancel_requested,
        )
        self.leases[lease.lease_id] = lease
        return assignment(lease, self.lease_seconds) | task.more

    def _as_it_is_now(self, given: dict[str, Any]) -> dict[str, Any]:
        lease = self.leases[given["lease_id"]]
        remaining_ms = int((lease.expires_at - time.monotonic()) * 1000)
        return given | {"lease_remaining_ms": remaining_ms, "cancel_requested": lease.cancel_requested}

    async def _renew(self, call: Call, _reader: Any) -> tuple[int, Any]:
        lease = self._live(call.subject)
        if lease is None:
            return problem(409, "stale_lease", lease_id=call.subject)
        lease.expires_at = time.monotonic() + self.lease_seconds
        if call.body["cancel_seen"] and lease.seen_at is None:
            lease.seen_at = time.monotonic()
        return 200, renewal(lease, self.lease_seconds, self.renew_after_ms)

    async def _renew_all(self, call: Call, reader: asyncio.StreamReader) -> tuple[int, Any]:
        if not self.renews_together:
            return problem(404, "route_not_found")
        began = time.monotonic()
        while True:
            if self._has_news(call) or self._is_due(call, began=began) or self._stop.is_set() or reader.at_eof():
                break
            await asyncio.sleep(0.005)
        held_ms = int((time.monotonic() - began) * 1000)
        entries = [self._renewed_together(held) for held in call.body["leases"]]
        return 200, {
            "leases": entries,
            "held_ms": held_ms,
            "renew_after_ms": 0,
            "other_leases": self.other_leases,
        }

    def _has_news(self, call: Call) -> bool:
        if self.made("renew_all")[-1] is not call:
            return True
        leases = [(self._live(held["lease_id"]), held["cancel_seen"]) for held in call.body["leases"]]
        return any(lease is None or (lease.cancel_requested and not is_seen) for lease, is_seen in leases)

    def _is_due(self, call: Call, *, began: float) -> bool:
        """The wait is over, or a third of a lease has passed since one of them was renewed."""
        now = time.monotonic()
        expiries = [self.leases[held["lease_id"]].expires_at for held in call.body["leases"]]
        return now >= began + call.body["wait_ms"] / 1000 or now >= min(expiries) - self.lease_seconds * 2 / 3

    def _renewed_together(self, held: dict[str, Any]) -> dict[str, Any]:
        lease = self._live(held["lease_id"])
        if lease is None:
            return {"status": "stale", "lease_id": held["lease_id"]}
        lease.expires_at = time.monotonic() + self.lease_seconds
        if held["cancel_seen"] and lease.seen_at is None:
            lease.seen_at = time.monotonic()
        return renewal(lease, self.lease_seconds, 0)

    async def _result(self, call: Call, _reader: Any) -> tuple[int, Any]:
        lease = self.leases.get(call.subject)
        if lease is None or (lease.is_ended and lease.result is None):
            return problem(409, "stale_lease", lease_id=call.subject)
        result = {name: value for name, value in call.body.items() if name != "next_claim"}
        if lease.result is not None:
            if lease.result != result:
                return problem(409, "result_conflict", lease_id=call.subject)
            return 200, self._recorded(lease, "already_recorded") | self._with_report(call)
        if call.body["status"] == "cancelled" and not lease.cancel_requested:
            return problem(409, "cancel_not_requested", lease_id=call.subject)
        # Fenced by the lease's name and not by its expiry: until somebody ends a lease, its result is welcome.
        lease.result, lease.is_ended = result, True
        return 200, self._recorded(lease, "recorded") | self._with_report(call)

    def _with_report(self, call: Call) -> dict[str, Any]:
        claim = call.body.get("next_claim")
        if claim is None or not self.claims_with_reports:
            return {}
        return {"claimed": self._claimed(claim, 0) or {"assignment": None, "held_ms": 0}}

    async def _artifact(self, call: Call, _reader: Any) -> tuple[int, Any]:
        _, name = call.subject.split("/")
        self.artifacts[name] = call.body["content"]
        return 200, {"name": name, "size_bytes": len(call.body["content"]), "sha256": "0" * 64, "is_late": False}

    def _live(self, lease_id: str) -> Lease | None:
        lease = self.leases.get(lease_id)
        if lease is None or lease.is_ended:
            return None
        if time.monotonic() > lease.expires_at:
            self.expired.append(lease_id)
            lease.is_ended = True
            return None
        return lease

    def _recorded(self, lease: Lease, status: str) -> dict[str, Any]:
        return {"status": status, "task_id": lease.task_id, "task_status": lease.result["status"]}


def assignment(lease: Lease, lease_seconds: float) -> dict[str, Any]:
    return {
        "task_id": lease.task_id,
        "attempt": 1,
        "lease_id": lease.lease_id,
        "lease_expires_at": "2026-01-01T00:00:00Z",
        "lease_remaining_ms": int(lease_seconds * 1000),
        "lease_seconds": lease_seconds,
        "cancel_requested": lease.cancel_requested,
        "device_serial": lease.serial,
        "kind": "flow",
        "flow": "appId: com.example\n---\n- back\n",
        "a_field_of_a_newer_control_plane": True,
    }


def renewal(lease: Lease, lease_seconds: float, renew_after_ms: int) -> dict[str, Any]:
    return {
        "status": "renewed",
        "lease_id": lease.lease_id,
        "lease_expires_at": "2026-01-01T00:00:00Z",
        "lease_remaining_ms": int(lease_seconds * 1000),
        "held_ms": 0,
        "renew_after_ms": renew_after_ms,
        "cancel_requested": lease.cancel_requested,
    }


def _without_cancels(reply: dict[str, Any]) -> dict[str, Any]:
    """The reply as it was before there were cancels, and claims for several devices."""
    kept = {name: value for name, value in reply.items() if name not in {"cancel_requested", "further_assignments"}}
    return {name: _without_cancels(value) if isinstance(value, dict) else value for name, value in kept.items()}


def problem(status: int, code: str, **context: Any) -> tuple[int, dict[str, Any]]:
    kind = f"urn:corral:problem:{code}"
    return status, {"type": kind, "title": code, "status": status, "code": code, "detail": code, "context": context}


def _route(path: str) -> tuple[str, str]:
    match path.split("/"):
        case ["hosts", "register"]:
            return "register", ""
        case ["hosts", host_id, ("heartbeat" | "claim") as route]:
            return route, host_id
        case ["hosts", host_id, "renew"]:
            return "renew_all", host_id
        case ["leases", lease_id, ("renew" | "result") as route]:
            return route, lease_id
        case ["leases", lease_id, "artifacts", name]:
            return "artifact", f"{lease_id}/{name}"
    raise AssertionError(f"no such route: {path}")


async def _write(writer: asyncio.StreamWriter, status: int, body: str, headers: tuple[tuple[str, str], ...]) -> bool:
    content = body.encode()
    lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in headers)]
    lines.append(f"content-length: {len(content)}")
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + content)
    await writer.drain()
    return True


async def until(condition: Callable[[], Any], *, seconds: float = DEADLINE_SECONDS) -> None:
    """Wait for a condition, or fail."""
    ends_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends_at, "it did not come to that in time"
        await asyncio.sleep(0.005)


@pytest.fixture(scope="session", autouse=True)
def plain_log() -> Iterator[None]:
    """As the host writes it. structlog's own default draws tracebacks for seconds, in the loop that renews leases."""
    plain = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[structlog.processors.add_log_level, plain])
    yield
    structlog.reset_defaults()


@pytest.fixture
def far_side() -> Iterator[FarSide]:
    side = FarSide()
    side.start()
    yield side
    side.stop()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
