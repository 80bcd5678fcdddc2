"""What a client says that has Celery and the address of Redis, and nothing of Corral. Run by an interpreter of its own.

Prints what came of each wish as JSON.
"""

import importlib.util
import json
import sys
import time
import uuid
from datetime import timedelta

from celery import Celery, chain, chord, group

FLOW = "appId: dev.corral.notes\n---\n- launchApp\n"
URL = sys.argv[1]

app = Celery("client", broker=URL, backend=URL)


def send(name, **options):
    return app.send_task("corral.run", kwargs={"flow": FLOW, "name": name}, **options)


def step(name, **options):
    return app.signature("corral.run", kwargs={"flow": FLOW, "name": name}, **options)


def outcome(sent):
    """The result, or the name of the error and what it says; and the state."""
    try:
        return [sent.get(timeout=10), sent.state]
    except Exception as error:  # noqa: BLE001 - any: which one it is, is what the test asks
        return [type(error).__name__, str(error), sent.state]


def cancelled():
    sent = send("waits")
    while not (sent.state == "STARTED" and sent.info["progress"]):
        time.sleep(0.02)
    seen = sent.info
    sent.revoke()
    return [seen["progress"], outcome(sent)]


def linked(name, option):
    following = str(uuid.uuid4())
    send(name, **{option: step("follows").set(task_id=following)})
    return outcome(app.AsyncResult(following))


def twice():
    first = send("once", task_id=str(uuid.uuid4()))
    return [outcome(first), outcome(send("again", task_id=first.id))]


print(  # noqa: T201 - the test reads it
    json.dumps(
        {
            "corral": importlib.util.find_spec("corral") is not None,
            "success": outcome(send("good")),
            "failure": outcome(send("bad")),
            "cancelled": cancelled(),
            "chain": outcome(chain(step("one"), step("two"), step("three"))()),
            "chain that breaks": outcome(chain(step("one"), step("bad"), step("three"))()),
            "link": linked("good", "link"),
            "link_error": linked("bad", "link_error"),
            "group": group(step("a"), step("b"))().get(timeout=10),
            "chord": outcome(chord([step("a"), step("b")])(step("body"))),
            # Celery raises as soon as one of the header has failed, and marks the body after that.
            "chord that breaks": outcome(chord([step("a"), step("bad")])(step("body")))[:2],
            "expired": outcome(send("late", expires=app.now() - timedelta(seconds=1))),
            "eta": outcome(send("later", countdown=60)),
            "wrong": outcome(app.send_task("corral.run", kwargs={"flw": FLOW})),
            "twice": twice(),
        }
    )
)
