import errno
import os
from pathlib import Path
from uuid import uuid4

import pytest

from corral.contract.host_protocol import HostRegistered
from workers.host.life import ExitCode
from workers.host.state_folder import CredentialUnreadable, StateFolder, StateFolderInUse, StateFolderUnusable


@pytest.fixture
def folder(tmp_path: Path) -> StateFolder:
    return StateFolder(tmp_path / "host")


def is_unusable(folder: StateFolder) -> bool:
    with pytest.raises(StateFolderUnusable, match=str(folder.path)) as unusable, folder.locked():
        pass
    return unusable.value.exit_code is ExitCode.NOT_CONFIGURED


def test_a_folder_that_is_a_file_is_refused_with_its_name(folder: StateFolder) -> None:
    folder.path.touch()
    assert is_unusable(folder)


def test_a_spool_that_is_a_file_is_refused_before_the_host_enrols(folder: StateFolder) -> None:
    folder.path.mkdir()
    folder.spool_path.touch()
    assert is_unusable(folder)


def test_a_full_disk_is_refused_before_the_host_enrols(folder: StateFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", is_full)
    assert is_unusable(folder)


def test_a_credential_that_is_a_folder_is_refused_with_its_name(folder: StateFolder) -> None:
    folder.credential_path.mkdir(parents=True)
    with pytest.raises(StateFolderUnusable, match=str(folder.credential_path)):
        folder.credential()


def test_a_damaged_credential_is_refused_and_not_replaced(folder: StateFolder) -> None:
    folder.path.mkdir()
    folder.credential_path.write_text('{"host_id": 3')
    with pytest.raises(CredentialUnreadable):
        folder.credential()


def test_a_credential_is_kept_and_read_again_by_its_owner_alone(folder: StateFolder) -> None:
    registered = HostRegistered(host_id=uuid4(), credential="secret")
    assert folder.credential() is None
    with folder.locked():
        folder.keep_credential(registered)
    assert folder.credential() == registered
    assert folder.credential_path.stat().st_mode & 0o077 == 0


def test_a_second_process_is_told_who_holds_the_folder(folder: StateFolder) -> None:
    with folder.locked(), pytest.raises(StateFolderInUse, match=f"process {os.getpid()}"), folder.locked():
        pass
    with folder.locked():
        pass


def test_an_error_of_the_host_itself_is_not_taken_for_one_of_the_folder(folder: StateFolder) -> None:
    with pytest.raises(ConnectionError), folder.locked():
        raise ConnectionError
