"""What happens when the inside fails: no success is told that was not stored, and nothing of the inside is shown."""

from pathlib import Path

import httpx
import psycopg
import pytest

from control.app.main import create_app
from control.app.settings import Settings
from control.artifacts import ArtifactFolder
from control.operations.plane import Job, Plane
from control.store.database import Database
from control.store.schema import migrate
from corral import failpoints
from corral.stack.ports import free_port
from corral.stack.postgres import EmbeddedPostgres
from tests.control.api.calls import SUBMISSION, problem
from tests.control.api.serving import served
from tests.control.fleet import RecordedRings, RecordedWakeups

FAILS_AT_COMMIT = """
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {what}; RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON scheduled_tasks DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION refuse()
"""


def plane_on(database_url: str, folder: Path) -> Plane:
    return Plane(
        database=Database.connect(database_url, pool_size=4, application_name="test"),
        doorbell=RecordedRings(),
        wakeups=RecordedWakeups(),
        artifacts=ArtifactFolder(folder),
    )


@pytest.mark.parametrize(
    ("what", "status", "code"),
    [
        ("RAISE EXCEPTION 'secret detail'", 500, "internal_error"),
        ("PERFORM pg_terminate_backend(pg_backend_pid())", 503, "not_ready"),
        # What no column holds, though the models let it pass.
        ("PERFORM CAST(1000000000000 AS integer)", 422, "invalid_request"),
    ],
)
def test_a_commit_that_fails_is_no_success(
    api: httpx.Client, user: dict[str, str], settings: Settings, what: str, status: int, code: str
):
    with psycopg.connect(settings.database_url.get_secret_value(), autocommit=True) as connection:
        connection.execute(FAILS_AT_COMMIT.format(what=what).encode())
        try:
            answer = api.post("/v1/tasks", json=SUBMISSION, headers=user)
        finally:
            connection.execute("DROP FUNCTION refuse CASCADE")
    problem(answer, status, code)
    assert "secret" not in answer.text
    assert api.get("/v1/tasks", headers=user).json()["tasks"] == []


def test_an_unforeseen_failure_is_a_500_that_shows_nothing(api: httpx.Client, user: dict[str, str], plane: Plane):
    def burst() -> None:
        raise RuntimeError("the password is 12345")

    with failpoints.on("submit.committed", burst):
        answer = api.post("/v1/tasks", json=SUBMISSION, headers=user)
    document = problem(answer, 500, "internal_error")
    assert document["request_id"]
    assert "12345" not in answer.text
    assert isinstance(plane.doorbell, RecordedRings)
    assert plane.doorbell.rung[-1:] == [Job.ASSIGN_TASKS]


def test_without_postgres_the_api_lives_is_not_ready_and_says_when_to_ask_again(settings: Settings, tmp_path: Path):
    nowhere = f"postgresql://nobody@127.0.0.1:{free_port()}/none"
    with served(create_app(settings, plane_on(nowhere, tmp_path), sweeps=()), settings) as api:
        assert api.get("/healthz").json() == {"status": "alive"}
        answer = api.get("/readyz")
        problem(answer, 503, "not_ready")
        assert answer.headers["retry-after"] == "2"
        asked = api.get("/v1/tasks", headers={"Authorization": "Bearer corral_a_b"})
        problem(asked, 503, "not_ready")


def test_an_old_schema_is_not_ready_and_a_missing_redis_is_only_degraded(
    settings: Settings, postgres: EmbeddedPostgres, database_url: str, tmp_path: Path
):
    deaf = settings.model_copy(update={"redis_url": type(settings.redis_url)(f"redis://127.0.0.1:{free_port()}/0")})
    with served(create_app(deaf, plane_on(database_url, tmp_path), sweeps=()), deaf) as api:
        assert api.get("/readyz").json() == {"status": "ready", "postgres": "ok", "redis": "degraded"}
        migrate(database_url, target="0001")
        document = problem(api.get("/readyz"), 503, "not_ready")
        assert "0001" in document["detail"]
        assert "corral migrate" in document["detail"]
        migrate(database_url, target="base")
        refused = problem(api.get("/v1/tasks", headers={"Authorization": "Bearer corral_a_b"}), 503, "not_ready")
        assert "corral migrate" in refused["detail"]
