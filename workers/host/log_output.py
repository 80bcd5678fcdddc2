"""Where the host's log lines go and how they look."""

import logging
import sys
from typing import Literal

import structlog

_LEVELS = logging.getLevelNamesMapping()


def write_log(*, log_format: Literal["console", "json"], log_level: str) -> None:
    """Structured lines on stderr from here on; called once, by the entry point."""
    renderer = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    errors = [structlog.processors.dict_tracebacks] if log_format == "json" else []
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *errors,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[log_level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
