"""What the processes of `tests.forked` share: imported once, before they are forked."""

import gc
from importlib import import_module

PARTS = ("control.app.main", "control.jobs.beat", "control.jobs.worker", "corral.cli.run", "workers.host.main")

# Nothing of it is ever let go, and a collection in a fork would write to all that is shared, and so copy it.
gc.disable()
for part in PARTS:
    import_module(part)
gc.freeze()
gc.enable()
