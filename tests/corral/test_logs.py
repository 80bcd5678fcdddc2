"""Log lines in a process of their own, for logging is set up once per process."""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import logging, sys, structlog
from corral.logs import configure_logs
configure_logs(log_format=sys.argv[1], log_level="info")
log = structlog.get_logger()
log.debug("unheard")
log.info("task.assigned", task_id="7")
logging.getLogger("sqlalchemy").warning("a library says %s", "something")
secret = "hunter" + "2"
try:
    raise RuntimeError("broken")
except RuntimeError:
    log.exception("request.crashed")
"""


def lines(log_format: str) -> list[str]:
    ran = subprocess.run([sys.executable, "-c", SCRIPT, log_format], capture_output=True, text=True, check=True)
    assert ran.stdout == ""
    return ran.stderr.splitlines()


def test_json_lines_are_one_object_each_whoever_wrote_them():
    ours, library, crash = (json.loads(line) for line in lines("json"))
    assert (ours["event"], ours["level"], ours["task_id"]) == ("task.assigned", "info", "7")
    assert (library["event"], library["level"]) == ("a library says something", "warning")
    assert "RuntimeError: broken" in crash["exception"]
    assert all(line["timestamp"] for line in (ours, library, crash))


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_traceback_shows_no_local_variables(log_format: str):
    text = "\n".join(lines(log_format))
    assert "RuntimeError: broken" in text
    assert "hunter2" not in text
    assert "unheard" not in text
