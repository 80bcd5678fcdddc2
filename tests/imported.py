"""What the processes of `tests.forked` share: imported once, before they are forked."""

import gc

import control.app.main
import control.jobs.beat
import control.jobs.worker
import corral.cli.run
import workers.host.main

__all__ = ["control", "corral", "workers"]

# A collection in a fork would write to all that is shared, and so copy it.
gc.freeze()
