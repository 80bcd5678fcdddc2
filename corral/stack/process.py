"""Child processes that end with us: started in a process group of their own, ended by it, and bound to our life."""

import ctypes
import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

#: `prctl(PR_SET_PDEATHSIG, …)`; its manual: cleared by a change of user, sent when the *thread* that forked ends.
_PR_SET_PDEATHSIG = 1


def spawn(
    command: Sequence[str],
    *,
    log_file: Path,
    dies_with: signal.Signals,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    run_as: pwd.struct_passwd | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program, what it prints appended to `log_file`. Call it from a thread that lives as long as the child.

    `dies_with` is the signal that the child gets, on Linux, when we end without having ended it; `run_as` the user
    that it becomes.
    """
    with log_file.open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - our own programs and arguments
            list(command),
            env=None if env is None else dict(env),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # Ctrl-C on the terminal goes to us, and we end the parts in order.
            start_new_session=True,
            preexec_fn=_bind_to_parent(dies_with),  # noqa: PLW1509 - after the change of user, which would clear it
            cwd=cwd,
            user=run_as and run_as.pw_uid,
            group=run_as and run_as.pw_gid,
            extra_groups=[] if run_as else None,
        )


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to all that the child has started and that stayed in its group."""
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return


def end_of(log_file: Path, *, chars: int = 2000) -> str:
    """The last lines of a log, for an error message."""
    return log_file.read_text(errors="replace")[-chars:].strip() if log_file.exists() else "(no log)"


def _bind_to_parent(dies_with: signal.Signals) -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    # Looked up before the fork: in the child only the call itself may happen.
    prctl, parent, number = ctypes.CDLL(None).prctl, os.getpid(), int(dies_with)

    def bind() -> None:
        prctl(_PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:
            os._exit(1)

    return bind
