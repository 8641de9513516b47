"""Files are written whole or not at all, locked against other processes, and named as every system accepts."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.common.files import (
    LOCK_NAME,
    MAX_BYTES,
    FolderLock,
    LockedError,
    lock_file,
    portable_name,
    remove_tree,
    require_writable,
    temporary_directory,
    write_all,
    write_whole,
    written_parts,
)
from tests.documents import ROOT

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")

# -- names ------------------------------------------------------------------------------------------------------------

names = st.text(max_size=300) | st.builds(
    str.__add__,
    st.sampled_from(["con", "AUX", "nul", "com1", "LPT9", "com¹", "CON ", "prn.", "a" * 239, "ä" * 120]),
    st.text(st.sampled_from('.xml :con\\/*?"<>|\ud800ü'), max_size=8),
)
"""Any texts, and those that are close to what systems refuse."""


@pytest.mark.parametrize(
    ("name", "portable"),
    [
        ("replay_swc_2027_blokus_2026-11-22_20-15-00_a_b.xml", "replay_swc_2027_blokus_2026-11-22_20-15-00_a_b.xml"),
        ("Jörgs Spiel (2).xml", "Jörgs Spiel (2).xml"),
        ("con", "_con"),
        ("Con.xml", "_Con.xml"),
        ("com1 .txt", "_com1 .txt"),
        ("conductor", "conductor"),
        ("a:b/c\\d", "a_b_c_d"),
        ("end.", "end_"),
        ("end ", "end_"),
        ("..", "._"),
        ("", "_"),
        ("\ud83d", "_"),
        ("x" * 300 + ".xml", "x" * (MAX_BYTES - 4) + ".xml"),
    ],
)
def test_only_what_a_system_refuses_is_replaced(name: str, portable: str) -> None:
    assert portable_name(name) == portable


@given(names)
def test_every_name_becomes_portable(name: str) -> None:
    portable = portable_name(name)
    assert portable_name(portable) == portable
    assert 0 < len(portable.encode()) <= MAX_BYTES
    assert not set(portable) & set('/\\:*?"<>|\0\n\x7f')
    assert portable[-1] not in {" ", "."}
    assert not PureWindowsPath(portable).drive
    stem = portable.partition(".")[0].rstrip().casefold()
    assert stem not in {"con", "prn", "aux", "nul", "conin$", "conout$"}
    assert not (len(stem) == 4 and stem[:3] in {"com", "lpt"} and stem[3] in "0123456789¹²³")


# -- writing ----------------------------------------------------------------------------------------------------------


class ShortWrites:
    """Takes at most `limits[n]` bytes in its n-th call, and everything in later calls."""

    def __init__(self, *limits: int | None) -> None:
        self.limits = list(limits)
        self.content = b""

    def write(self, data: memoryview) -> int | None:
        limit = self.limits.pop(0) if self.limits else len(data)
        if limit is not None:
            self.content += data[:limit]
            limit = min(limit, len(data))
        return limit


def test_bytes_that_are_taken_in_parts_are_written_in_order() -> None:
    file = ShortWrites(1, 3)
    assert list(written_parts(file.write, b"abcdefgh")) == [1, 3, 4]
    write_all(file.write, b"ij")
    write_all(ShortWrites(0).write, b"")
    assert file.content == b"abcdefghij"


@pytest.mark.parametrize("nothing", [0, None])
def test_a_file_that_takes_nothing_is_full(nothing: int | None) -> None:
    file = ShortWrites(2, nothing)
    with pytest.raises(OSError, match="No space left on device") as full:
        write_all(file.write, b"abc")
    assert (full.value.errno, file.content) == (errno.ENOSPC, b"ab")


@pytest.mark.parametrize(
    ("content", "expected"),
    [(b"\0\r\n", b"\0\r\n"), ("Zug\n", b"Zug\n"), ("\udcfc", b"\\udcfc"), ("ü", "ü".encode())],
)
def test_a_file_gets_the_content_and_nothing_is_left_beside_it(
    content: bytes | str, expected: bytes, tmp_path: Path
) -> None:
    path = tmp_path / ("ü" * 100 + ".html")
    for _ in range(2):
        write_whole(path, content)
        assert path.read_bytes() == expected
    assert list(tmp_path.iterdir()) == [path]


def test_a_reader_of_the_old_file_keeps_it(tmp_path: Path) -> None:
    """The new content is not written into the old file, which an end of this process would leave incomplete."""
    path, other = tmp_path / "report.html", tmp_path / "other"
    path.write_text("old")
    other.hardlink_to(path)
    write_whole(path, "new")
    assert (path.read_text(), other.read_text()) == ("new", "old")


@pytest.mark.parametrize("function", [require_writable, lambda path: write_whole(path, "new")])
def test_an_error_names_the_file_and_changes_nothing(function: object, tmp_path: Path) -> None:
    assert callable(function)
    for path in (tmp_path / "absent" / "report.html", tmp_path):
        with pytest.raises(OSError, match="report.html" if path != tmp_path else str(tmp_path)):
            function(path)
    assert list(tmp_path.iterdir()) == []


def test_whether_a_file_can_be_written_is_tried_without_making_it(tmp_path: Path) -> None:
    require_writable(tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "report.html").write_text("old")
    require_writable(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == "old"


@POSIX
def test_links_devices_and_pipes_stay_and_are_written_to(tmp_path: Path) -> None:
    if sys.platform == "win32":
        return  # for mypy
    (tmp_path / "link").symlink_to("report.html")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "report.html").read_text() == "new"
    require_writable(Path(os.devnull))
    write_whole(Path(os.devnull), "new")
    assert not Path(os.devnull).is_file()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    require_writable(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "new")
    assert os.read(reader, 16) == b"new"
    os.close(reader)


# -- locks ------------------------------------------------------------------------------------------------------------


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
    code = "import sys; from pathlib import Path; from spielleiter.common.files import FolderLock; "
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
def test_a_directory_that_was_removed_is_locked_again_unless_another_server_was_faster(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    lock = FolderLock(folder)
    shutil.rmtree(folder)
    lock.hold()
    with pytest.raises(LockedError):
        FolderLock(folder)
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


@POSIX
@pytest.mark.parametrize(("number", "is_refused"), [(errno.EACCES, True), (errno.EAGAIN, True), (errno.ENOLCK, False)])
def test_a_file_system_without_locks_is_no_error(
    number: int, is_refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", fail)
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
    FolderLock(tmp_path).close()
    assert calls == [(0x7FFF_0000, 21)]
    assert (tmp_path / LOCK_NAME).stat().st_size == 0


# -- removing: a virus scanner has opened a file ----------------------------------------------------------------------


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


def test_a_temporary_directory_is_removed() -> None:
    with temporary_directory("spielleiter-test-") as folder:
        (folder / "file").write_bytes(b"")
    assert not folder.exists()
    with temporary_directory("spielleiter-test-") as folder:
        folder.rmdir()  # what cannot be removed is no error
