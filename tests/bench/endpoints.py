"""What ordinary requests cost: a submit, a look at a task, a list, and the heartbeat of a host with sixteen devices."""

from functools import partial
from itertools import islice

from corral.contract.identifiers import uuid7
from tests.bench.load_process import LoadProcess, load_process
from tests.bench.loads import AgainAndAgain
from tests.bench.renewal_requests import single_requests
from tests.bench.rounds import Sample, in_turns, rate_row, take
from tests.bench.row import Row
from tests.bench.seeding import SeededHost, seed_hosts
from tests.bench.sizes import ROUNDS, SCALE
from tests.bench.stand import Stand, stand
from tests.bench.wire import get, post
from tests.control.fleet import FLOW

HOSTS, DEVICES = 64, 16
CONNECTIONS = 8
TURN_SECONDS = max(0.5, 1.5 * SCALE)


def run() -> list[Row]:
    with stand() as made, load_process() as load:
        hosts = seed_hosts(made, HOSTS, devices=DEVICES, busy=True)
        made.start_api()
        made.start_bare_server()
        floor = single_requests(hosts, step=0)
        turns = {"bare_asgi": partial(_turn, made, load, "bare", made.bare_port, floor)}
        for name, requests in _requests(made, hosts).items():
            turns[name] = partial(_turn, made, load, "api", made.port, requests)
        taken = in_turns(turns, rounds=ROUNDS)
        return [rate_row(name, taken, floor=None if name == "bare_asgi" else "bare_asgi") for name in turns]


def _requests(stand: Stand, hosts: list[SeededHost]) -> dict[str, list[bytes]]:
    tasks = [task_id for host in hosts for task_id in host.task_ids]
    return {
        "submit": [post("/v1/tasks", {"kind": "flow", "flow": FLOW}, token=stand.api_key)],
        "show": [get(f"/v1/tasks/{task_id}", token=stand.api_key) for task_id in islice(tasks, 200)],
        "list_50": [get("/v1/tasks?limit=50", token=stand.api_key)],
        "heartbeat_16": [_heartbeat(host) for host in hosts],
        "claim_nothing": [_claim(host) for host in hosts],
    }


def _heartbeat(host: SeededHost) -> bytes:
    devices = [{"serial": serial, "state": "ready", "model": "Pixel 8"} for serial in host.serials]
    body = {"incarnation": str(host.incarnation), "devices": devices}
    return post(f"/internal/v1/hosts/{host.host_id}/heartbeat", body, token=host.credential)


def _claim(host: SeededHost) -> bytes:
    body = {"claim_id": str(uuid7()), "incarnation": str(host.incarnation), "free_devices": ["D1"], "wait_ms": 0}
    return post(f"/internal/v1/hosts/{host.host_id}/claim", body, token=host.credential)


def _turn(stand: Stand, load: LoadProcess, server: str, port: int, requests: list[bytes]) -> Sample:
    sent = AgainAndAgain(port, requests, CONNECTIONS, TURN_SECONDS)
    return take(lambda: load.run(sent), stand.cpu_of(server, "postgres", "valkey"))
