"""Reports on disk: each is written before it is sent and stays until the control plane has acknowledged it.

spool/<lease_id>.json            waiting to be delivered, again after a crash
spool/refused/<lease_id>.json    will never be recorded: kept for people to look at
"""

import contextlib
import os
from pathlib import Path
from uuid import UUID

import structlog
from pydantic import ValidationError

from corral.contract.host_protocol import TerminalResultRequest
from corral.contract.models import Tolerant
from corral.contract.problems import Problem
from workers.metrics import REPORTS_REFUSED, SPOOLED_REPORTS

log = structlog.get_logger()


class SpooledReport(Tolerant):
    """A report and the names it is delivered under."""

    lease_id: UUID
    task_id: UUID
    report: TerminalResultRequest


class RefusedReport(SpooledReport):
    problem: Problem


class Spool:
    """A folder of reports. All methods block on the disk: call them in a thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._refused = folder / "refused"
        self._refused.mkdir(parents=True, exist_ok=True)
        self._show_depth()

    def put(self, spooled: SpooledReport) -> None:
        """When this returns, the report survives a crash of the machine."""
        _write_durably(self._folder / f"{spooled.lease_id}.json", spooled.model_dump_json(indent=1))
        self._show_depth()

    def remove(self, lease_id: UUID) -> None:
        """Forget an acknowledged report; one that is not there is no error."""
        (self._folder / f"{lease_id}.json").unlink(missing_ok=True)
        _sync_folder(self._folder)
        self._show_depth()

    def refuse(self, spooled: SpooledReport, problem: Problem) -> None:
        """Keep a report that was refused, with the reason, out of the way of those still to be delivered."""
        REPORTS_REFUSED.inc()
        refused = RefusedReport(**dict(spooled), problem=problem)
        _write_durably(self._refused / f"{spooled.lease_id}.json", refused.model_dump_json(indent=1))
        self.remove(spooled.lease_id)

    def waiting(self) -> list[SpooledReport]:
        """What a former life left undelivered. A file that cannot be read is set aside and named in the log."""
        found = (self._read(path) for path in sorted(self._folder.glob("*.json")))
        return [spooled for spooled in found if spooled]

    def _show_depth(self) -> None:
        SPOOLED_REPORTS.set(sum(1 for _ in self._folder.glob("*.json")))

    def _read(self, path: Path) -> SpooledReport | None:
        try:
            return SpooledReport.model_validate_json(path.read_bytes())
        except (ValidationError, OSError):
            log.exception("spool.unreadable", file=str(path))
            with contextlib.suppress(OSError):
                path.rename(self._refused / path.name)
            return None


def _write_durably(path: Path, text: str) -> None:
    """Whole or not at all, also through a power cut."""
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """A rename is on the disk only when its folder is."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
