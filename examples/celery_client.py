"""Run a flow on a phone from any program that has Celery; nothing of Corral is needed.

    pip install "celery[redis]"
    python celery_client.py redis://127.0.0.1:6379/0

Corral must let Celery clients in: `CORRAL_CELERY_SUBMITTER` (docs/reference/celery.md).
"""

import sys
import time

from celery import Celery, chord
from celery.exceptions import TaskRevokedError

FLOW = """
appId: dev.corral.notes
name: Look at the notes
---
- launchApp
- assertVisible: New note
"""
#: Runs for a few seconds, so that there is something to watch and to cancel.
COUNT = """
appId: dev.corral.notes
name: Count to 300
---
- launchApp
- tapOn: Counter
- repeat:
    times: 300
    commands:
      - tapOn:
          id: more
"""
UNICORN = """
appId: dev.corral.notes
name: Look for a unicorn
---
- launchApp
- extendedWaitUntil:
    visible: Unicorn
    timeout: 1500
"""

if len(sys.argv) != 2:  # noqa: PLR2004 - the program and the address
    sys.exit(__doc__)
app = Celery(broker=sys.argv[1], backend=sys.argv[1])


def run(flow: str = FLOW, **more):
    """Queue a task; the keyword arguments are the fields of `POST /v1/tasks`."""
    return app.send_task("corral.run", kwargs={"flow": flow, **more})


def step(**more):
    """The same, as a part of a chain, a group or a chord."""
    return app.signature("corral.run", kwargs={"flow": FLOW, **more})


def watch(task) -> None:
    """Print where it runs and how far it is, until it has ended."""
    said = None
    while not task.ready():
        if (task.state, task.info) != said:
            said = (task.state, task.info)
            print(f"  {task.state}: {task.info}")
        time.sleep(0.2)


print("one task:")
task = run(COUNT, labels={"team": "green"})
watch(task)
print(f"  {task.state}: {task.get()}")

print("a flow that fails:")
try:
    run(UNICORN).get(timeout=120)
except Exception as error:  # Corral's errors are known by name where Corral is not installed.
    print(f"  {type(error).__name__}: {error}")

print("a task that is cancelled:")
task = run(COUNT)
while task.state != "STARTED" and not task.ready():
    time.sleep(0.1)
task.revoke()
try:
    print(f"  it was quicker: {task.get(timeout=120)}")
except TaskRevokedError as error:
    print(f"  revoked: {error}")

print("two tasks at once, and one after both:")
print(f"  {chord([step(name='left'), step(name='right')])(step(name='after both')).get(timeout=240)}")
