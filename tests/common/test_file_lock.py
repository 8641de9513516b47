"""A lock excludes other processes, ends with the open file, and survives the removal of the directory."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from spielleiter.common import file_lock
from spielleiter.common.file_lock import LOCK_NAME, FolderLock, LockedError, is_at, lock_file
from tests.documents import ROOT


def test_a_directory_is_locked_until_the_lock_is_closed(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    with pytest.raises(LockedError, match="another server writes there"):
        FolderLock(tmp_path)
    lock.hold()
    lock.close()
    lock.close()
    FolderLock(tmp_path).close()


@pytest.mark.slow
def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from spielleiter.common.file_lock import FolderLock; "
    holder = subprocess.Popen(
        [sys.executable, "-c", code + "lock = FolderLock(Path(sys.argv[1])); print(flush=True); input()", tmp_path],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b""
        with pytest.raises(LockedError):
            FolderLock(tmp_path)
        holder.kill()
        holder.wait()
    FolderLock(tmp_path).close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not remove a directory with open files")
def test_a_directory_that_was_removed_is_locked_again(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    lock = FolderLock(folder)
    shutil.rmtree(folder)
    lock.hold()
    with pytest.raises(LockedError):
        FolderLock(folder)
    lock.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not remove a directory with open files")
def test_a_lock_that_another_server_has_taken_is_not_taken_back(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    lock = FolderLock(folder)
    shutil.rmtree(folder)
    other = FolderLock(folder)
    with pytest.raises(LockedError):
        lock.hold()
    other.close()
    lock.hold()
    lock.close()


def test_other_than_regular_files_may_have_many_writers() -> None:
    one, two = (os.open(os.devnull, os.O_WRONLY) for _ in range(2))
    for descriptor in (one, two):
        lock_file(descriptor, Path(os.devnull))
        os.close(descriptor)


def test_an_open_file_is_recognized_at_its_path(tmp_path: Path) -> None:
    path = tmp_path / "file"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    assert is_at(descriptor, path)
    assert not is_at(descriptor, tmp_path / "other")
    os.close(descriptor)


@pytest.mark.parametrize(("number", "is_refused"), [(errno.EACCES, True), (errno.EAGAIN, True), (errno.ENOLCK, False)])
def test_a_file_system_without_locks_is_no_error(
    number: int, is_refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(file_lock, "_lock", fail)
    if is_refused:
        with pytest.raises(LockedError):
            FolderLock(tmp_path)
    else:
        FolderLock(tmp_path).close()


def test_windows_locks_a_byte_far_behind_the_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, int]] = []
    stand_in = SimpleNamespace(
        LK_NBLCK=2,
        locking=lambda descriptor, mode, count: calls.append((os.lseek(descriptor, 0, os.SEEK_CUR), mode * 10 + count)),
    )
    monkeypatch.setitem(sys.modules, "msvcrt", stand_in)
    monkeypatch.setattr(sys, "platform", "win32")
    lock = FolderLock(tmp_path)
    lock.close()
    assert calls == [(0x7FFF_0000, 21)]
    assert (tmp_path / LOCK_NAME).stat().st_size == 0
