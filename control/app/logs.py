"""Where log lines go and what they look like: one place for ours and for those of the libraries."""

import logging
import logging.config
import sys
from typing import Any

import structlog
from structlog.typing import Processor

#: What these say at `info` is said better by our own lines.
QUIET_LIBRARIES = ("alembic", "httpx", "uvicorn.access", "uvicorn.error", "watchfiles")


def configure_logs(*, log_format: str, level: str) -> None:
    """Send everything to standard error, as lines for people (`console`) or as JSON (`json`)."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    logging.config.dictConfig(_stdlib(shared, _renderers(log_format), level.upper()))


def _renderers(log_format: str) -> list[Processor]:
    if log_format == "json":
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    # A plain traceback: the pretty one prints local variables, and those may hold secrets.
    return [
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback)
    ]


def _stdlib(shared: list[Processor], renderers: list[Processor], level: str) -> dict[str, Any]:
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "lines": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": shared,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {name: {"level": "WARNING"} for name in QUIET_LIBRARIES},
    }
