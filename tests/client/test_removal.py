"""Folders are removed although a virus scanner has opened a file in them."""

from __future__ import annotations

import errno
import os
import shutil
from functools import partial
from pathlib import Path

import pytest

from spielleiter.client.removal import remove_tree, temporary_directory


class Scanner:
    """Holds a file for a number of attempts to remove its folder, with an error of Windows; None: of another system."""

    def __init__(self, attempts: int, winerror: int | None = 32) -> None:
        self.attempts, self.winerror = attempts, winerror
        self.pauses: list[float] = []

    def remove(self, folder: Path) -> None:
        if self.attempts:
            self.attempts -= 1
            error = PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder / "bot.exe"))
            if self.winerror is not None:
                setattr(error, "winerror", self.winerror)  # noqa: B010 - only Windows has it
            raise error
        shutil.rmtree(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "bot.exe").write_bytes(b"MZ")
    return tmp_path / "program"


@pytest.mark.parametrize("winerror", [5, 32, 33, 145])
def test_a_folder_is_removed_as_soon_as_its_files_are_let_go(winerror: int, folder: Path) -> None:
    scanner = Scanner(4, winerror)
    remove_tree(folder, remove=scanner.remove, sleep=scanner.pauses.append)
    assert not folder.exists()
    assert scanner.pauses == [0.01, 0.02, 0.04, 0.08]


def test_a_file_that_is_never_let_go_is_an_error_after_a_limited_time(folder: Path) -> None:
    scanner = Scanner(1000)
    with pytest.raises(PermissionError, match=r"bot\.exe"):
        remove_tree(folder, 10, remove=scanner.remove, sleep=scanner.pauses.append)
    assert folder.exists()
    assert sum(scanner.pauses) == pytest.approx(10)
    assert max(scanner.pauses) == 0.5


@pytest.mark.parametrize("winerror", [None, 3])
def test_other_errors_are_not_waited_for(winerror: int | None, folder: Path) -> None:
    scanner = Scanner(1, winerror)
    with pytest.raises(PermissionError):
        remove_tree(folder, remove=scanner.remove, sleep=scanner.pauses.append)
    assert scanner.pauses == []


@pytest.mark.parametrize(("attempts", "is_gone"), [(3, True), (1000, False)])
def test_a_temporary_directory_is_removed_or_stays(attempts: int, is_gone: bool) -> None:
    scanner = Scanner(attempts)
    remove = partial(remove_tree, remove=scanner.remove, sleep=scanner.pauses.append)
    with temporary_directory("spielleiter-test-", remove=remove) as folder:
        (folder / "file").write_bytes(b"")
    assert folder.exists() is not is_gone
    shutil.rmtree(folder, ignore_errors=True)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        remove_tree(tmp_path / "missing")
