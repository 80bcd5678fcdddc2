"""Where log lines go and what they look like: one place for the control plane, the host, and the libraries of both."""

import logging
import logging.config
import sys
from typing import Any, Literal, TypeAlias

import structlog
from structlog.typing import Processor

LogFormat: TypeAlias = Literal["console", "json"]
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]

#: What these say at `info` is said better by our own lines.
QUIET_LIBRARIES = (
    *("alembic", "httpx", "uvicorn.access", "uvicorn.error", "watchfiles"),
    *("anthropic", "google_genai", "httpx2", "openai"),
)


def configure_logs(*, log_format: LogFormat, log_level: LogLevel) -> None:
    """Send everything to standard error, as lines for people (`console`) or as JSON (`json`).

    Called once in a process, by its entry point.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(log_level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    logging.config.dictConfig(_stdlib(shared, _renderers(log_format), log_level.upper()))


def _renderers(log_format: LogFormat) -> list[Processor]:
    if log_format == "json":
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    # A plain traceback: the pretty one prints local variables, and those hold credentials and what a flow types.
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
