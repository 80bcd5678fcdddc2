"""Where the host's log lines go and how they look."""

import logging
import sys
from typing import Literal

import structlog
from structlog.tracebacks import ExceptionDictTransformer

_LEVELS = logging.getLevelNamesMapping()


def write_log(*, log_format: Literal["console", "json"], log_level: str) -> None:
    """Structured lines on stderr from here on; called once, by the entry point."""
    # Tracebacks without local variables: those hold credentials, and what a flow types.
    if log_format == "json":
        errors = [structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False))]
        renderer = structlog.processors.JSONRenderer()
    else:
        errors = []
        renderer = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
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
