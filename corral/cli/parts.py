"""The parts of Corral as single processes, for a cluster: each reads its settings from the environment."""

import re
import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from corral.cli.failures import CommandFailed, WrongUsage
from corral.cli.secret import secret_of
from corral.failpoints import order_from_environment

if TYPE_CHECKING:
    from pydantic_settings import BaseSettings

    from control.app.settings import Settings

AnySettings = TypeVar("AnySettings", bound="BaseSettings")


class Queue(StrEnum):
    """`control.jobs.schedule.JobQueue`, in words that the command line knows without Celery."""

    JOBS = "jobs"
    REAP = "reap"


_NODE_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)

#: Postgres' code for a table that is not there.
_UNDEFINED_TABLE = "42P01"

# Each command imports its part: none should wait for the libraries of the others.


def api() -> None:
    """Serve the API. Settings: CORRAL_DATABASE_URL, CORRAL_REDIS_URL, CORRAL_JOIN_TOKEN, CORRAL_PORT, …."""
    from control.app.main import run_api

    settings = _begin()
    with _traced("corral-api"):
        run_api(settings)


def jobs(
    queue: Annotated[
        list[Queue] | None, typer.Option(help="Which jobs; several times. Default: all, in one process.")
    ] = None,
    name: Annotated[str, typer.Option(help="What stands before the @ in Celery's list of workers.")] = "jobs",
) -> int:
    """Run the control plane's jobs in Celery, with the settings of the API."""
    from control.jobs.schedule import JobQueue
    from control.jobs.worker import run_jobs

    _check_node_name(name)
    settings = _begin()
    with _traced("corral-jobs"), _measured(settings), _state_file_failures():
        return run_jobs(
            database_url=settings.database_url.get_secret_value(),
            redis_url=settings.redis_url.get_secret_value(),
            artifacts_folder=settings.artifacts_dir,
            timing=settings.timing,
            queues=[JobQueue(one) for one in queue or Queue],
            name=name,
            celery_submitter=settings.celery_submitter,
            celery_queue=settings.celery_queue,
            state_file=settings.jobs_state_file,
        )


def beat() -> int:
    """Tick the jobs. One is enough; without any, the API does what is overdue."""
    from control.jobs.beat import run_beat

    settings = _begin()
    with _measured(settings):
        return run_beat(redis_url=settings.redis_url.get_secret_value(), timing=settings.timing)


def bridge(
    name: Annotated[str, typer.Option(help="What stands before the @ in Celery's list of workers.")] = "bridge",
) -> int:
    """Show hosts and device tasks to Celery's tools, such as Flower, and hear their revokes. Two may run."""
    from control.flower.bridge import run_bridge

    _check_node_name(name)
    settings = _begin()
    with _traced("corral-bridge"), _measured(settings):
        return run_bridge(
            database_url=settings.database_url.get_secret_value(),
            redis_url=settings.redis_url.get_secret_value(),
            artifacts_folder=settings.artifacts_dir,
            timing=settings.timing,
            celery_queue=settings.celery_queue,
            is_front_door_open=settings.celery_submitter is not None,
            name=name,
        )


def host() -> int:
    """Run a device host. Settings: CORRAL_API_URL, CORRAL_JOIN_TOKEN, CORRAL_HOST_STATE_DIR, …."""
    from workers.host.main import main

    return main()


def phone(context: typer.Context) -> int:
    """Serve emulated phones over TCP; `corral phone --help` shows its options."""
    from workers.phone.__main__ import main

    order_from_environment()
    return main(context.args, program="corral phone")


def migrate() -> None:
    """Bring the database of CORRAL_DATABASE_URL to the schema of this version."""
    from control.store.schema import migrate as migrate_schema

    with database_failures():
        revision = migrate_schema(database_url())
    sys.stdout.write(f"the database is at revision {revision}\n")


def database_url() -> str:
    """CORRAL_DATABASE_URL, or what its file holds. Raises `WrongUsage` where it is missing or is no address."""
    from control.store.database import psycopg_url

    url = secret_of("CORRAL_DATABASE_URL")
    try:
        psycopg_url(url)
    except ValueError as trouble:
        raise WrongUsage(f"CORRAL_DATABASE_URL: {trouble}") from None
    return url


@contextmanager
def database_failures() -> Generator[None]:
    """What Postgres says, as words for the user.

    Raises:
        CommandFailed: the database does not answer, or refuses.
    """
    from sqlalchemy.exc import DBAPIError

    try:
        yield
    except DBAPIError as trouble:
        if getattr(trouble.orig, "sqlstate", None) == _UNDEFINED_TABLE:
            raise CommandFailed("the database has no tables of Corral yet: run `corral migrate` first") from trouble
        raise CommandFailed(f"the database says: {str(trouble.orig).strip()}") from trouble


def _measured(settings: "Settings") -> AbstractContextManager[object]:
    """Metrics on a port of their own while the block runs, where the settings name one."""
    from corral.metrics_server import metrics_served

    return metrics_served(settings.metrics_port, settings.address)


def _check_node_name(name: str) -> None:
    if not _NODE_NAME.fullmatch(name):
        raise WrongUsage(f"--name {name!r}: letters, digits, dots, dashes and underscores make the name of a worker")


@contextmanager
def _state_file_failures() -> Generator[None]:
    """Raises CommandFailed where the worker's state file is none."""
    from control.jobs.state_file import StateFileUnusable

    try:
        yield
    except StateFileUnusable as trouble:
        raise CommandFailed(f"CORRAL_JOBS_STATE_FILE: {trouble}; name another, or delete it") from trouble


def settings_of(kind: type[AnySettings]) -> AnySettings:
    """Settings of this kind. Raises `WrongUsage` where some are missing or wrong; the message names each."""
    from corral.environment import SettingsInvalid, settings_from_environment

    try:
        return settings_from_environment(kind)
    except SettingsInvalid as trouble:
        raise WrongUsage(f"settings are missing or wrong:\n{trouble}") from trouble


def _begin() -> "Settings":
    """What a part of the control plane begins with: its failpoints, its settings, its logs."""
    from control.app.settings import Settings
    from corral.logs import configure_logs

    order_from_environment()
    settings = settings_of(Settings)
    configure_logs(log_format=settings.log_format, log_level=settings.log_level)
    return settings


@contextmanager
def _traced(service: str) -> Generator[None]:
    """While the block runs, traces are told, if the environment asks for them."""
    from corral.traces.switch import TracesNotPossible, configure_traces, end_traces

    try:
        configure_traces(service)
    except TracesNotPossible as trouble:
        raise WrongUsage(str(trouble)) from trouble
    try:
        yield
    finally:
        end_traces()
