from pathlib import Path

import pytest

from tests.corral.cli.conftest import Corral
from tests.corral.fake_api import TASK_ID, FakeApi, artifact, problem

PATH = f"/v1/tasks/{TASK_ID}/artifacts"


@pytest.fixture
def two_artifacts(api: FakeApi) -> None:
    listed = [artifact("screen.png"), artifact("screen.png", attempt=2, is_late=True, size_bytes=12)]
    api.answer("GET", PATH, (200, {"artifacts": listed}))
    api.answer("GET", f"{PATH}/screen.png", lambda request: (200, b"\x89PNG" + request.query["attempt"][0].encode()))


@pytest.mark.usefixtures("two_artifacts")
def test_what_a_task_left_is_listed(of_api: Corral) -> None:
    ran = of_api("artifacts", TASK_ID)
    _, first, second = ran.out.splitlines()
    assert first.split() == ["1", "screen.png", "image/png", "20.5", "kB"]
    assert second.split()[:5] == ["2", "screen.png", "image/png", "12", "B"]
    assert ("late" in first, "late" in second) == (False, True)
    assert len(of_api("artifacts", TASK_ID, "--json").json["artifacts"]) == 2


@pytest.mark.usefixtures("two_artifacts")
def test_all_of_it_is_saved_with_its_attempt_in_the_name(of_api: Corral, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "folder"
    ran = of_api("artifacts", TASK_ID, "--to", str(folder))
    assert (ran.code, ran.err.strip()) == (0, f"Saved in {folder}: 2")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == {
        "1-screen.png": b"\x89PNG1",
        "2-screen.png": b"\x89PNG2",
    }


@pytest.mark.usefixtures("two_artifacts")
def test_a_file_that_is_there_is_replaced_only_when_told_to(of_api: Corral, tmp_path: Path) -> None:
    mine = tmp_path / "2-screen.png"
    mine.write_text("mine")
    ran = of_api("artifacts", TASK_ID, "--to", str(tmp_path))
    assert ran.code == 2
    assert "2-screen.png is there already" in ran.err
    assert mine.read_text() == "mine"
    assert not (tmp_path / "1-screen.png").exists()
    assert of_api("artifacts", TASK_ID, "--to", str(tmp_path), "--force").code == 0
    assert mine.read_bytes() == b"\x89PNG2"


@pytest.mark.usefixtures("two_artifacts")
def test_a_file_in_place_of_the_folder_is_wrong_usage(of_api: Corral, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = of_api("artifacts", TASK_ID, "--to", str(tmp_path / "file"))
    assert (ran.code, "cannot be made a folder" in ran.err) == (2, True)


def test_an_api_does_not_choose_where_files_are_written(of_api: Corral, api: FakeApi, tmp_path: Path) -> None:
    api.answer("GET", PATH, (200, {"artifacts": [artifact("x/../../evil")]}))
    ran = of_api("artifacts", TASK_ID, "--to", str(tmp_path / "here"))
    assert (ran.code, ran.out) == (1, "")
    assert "no name of a file" in ran.err


def test_a_task_that_left_nothing_or_is_not_there_is_told_apart(of_api: Corral, api: FakeApi) -> None:
    api.answer("GET", PATH, (200, {"artifacts": []}), (404, problem("task_not_found", 404, "there is no task")))
    ran = of_api("artifacts", TASK_ID)
    assert (ran.code, ran.out, ran.err.strip()) == (0, "", "The task left no artifacts.")
    assert of_api("artifacts", TASK_ID).code == 4
