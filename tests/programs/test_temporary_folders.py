"""Folders for temporary files: closed to other users, and removed whatever is in them."""

from __future__ import annotations

import sys

import pytest

if sys.platform == "win32":
    pytest.skip("the files are of kinds that Windows does not have", allow_module_level=True)
assert sys.platform != "win32"  # for mypy

import itertools
import logging
import os
import socket
import subprocess
import tempfile
from pathlib import Path

from spielleiter.programs.temporary_folders import (
    LABEL_PREFIX,
    is_stale,
    new_folder,
    new_label,
    remove_folder,
    remove_stale_folders,
)
from tests.timeouts import HANG_TIMEOUT

STALE = new_label().replace(f"-{os.getpid()}-", "-999999999-")
"""The label of a process that has ended."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def nest(folder: Path, depth: int, name: str) -> None:
    """Make nested folders, whose path may be too long for the system."""
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=descriptor)
        below = os.open(name, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=descriptor))
    os.close(descriptor)


def deeply_nested_folders(folder: Path) -> None:
    nest(folder, sys.getrecursionlimit() + 50, "deep")


def names_of_255_bytes(folder: Path) -> None:
    nest(folder, 20, "n" * 255)
    (folder / ("ä" * 127 + "b")).touch()


def folders_without_rights(folder: Path) -> None:
    inner = folder
    for mode in (0o000, 0o100, 0o200, 0o400, 0o500):
        inner = inner / f"{mode:o}"
        inner.mkdir()
        (inner / "file").touch(mode=0)
    while inner != folder:
        inner.chmod(int(inner.name, 8))
        inner = inner.parent


def loops_of_links(folder: Path) -> None:
    (folder / "self").symlink_to("self")
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    (folder / "parent").symlink_to("..")
    (folder / "root").symlink_to("/")


def special_files(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(os.path.relpath(folder / "socket"))


def a_sparse_file(folder: Path) -> None:
    with (folder / "sparse").open("wb") as file:
        file.truncate(2**40)


def many_files_side_by_side(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    for number in range(2_000):
        os.close(os.open(str(number), os.O_WRONLY | os.O_CREAT, dir_fd=descriptor))
    os.close(descriptor)


HOSTILE = [
    deeply_nested_folders,
    names_of_255_bytes,
    folders_without_rights,
    loops_of_links,
    special_files,
    a_sparse_file,
    many_files_side_by_side,
]


AS_ORDINARY_USER = """
import os, resource, sys, tempfile
from tests.programs import test_temporary_folders as tests
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
tempfile.tempdir = sys.argv[1]
os.chdir(sys.argv[1])
folder = tests.new_folder()
for make in tests.HOSTILE:
    (folder / make.__name__).mkdir()
    make(folder / make.__name__)
assert tests.remove_folder(folder)
print(os.listdir(folder.parent))
"""


def test_everything_is_removed() -> None:
    """By an ordinary user: root may do everything, whatever the permissions are. Few open files are enough."""
    with tempfile.TemporaryDirectory() as folder:  # the path of a socket must be short
        if os.geteuid() == 0:
            os.chown(folder, 65534, 65534)
        command = [sys.executable, "-c", AS_ORDINARY_USER, folder]
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False)
        assert (done.stdout, done.stderr) == ("[]\n", "")


def test_the_time_is_limited_and_a_later_run_goes_on(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = new_folder().parent / STALE
    folder.mkdir()
    for number in range(100):
        (folder / str(number)).mkdir()
    ticks = itertools.count()
    with caplog.at_level(logging.WARNING):
        assert not remove_folder(folder, seconds=120, clock=lambda: next(ticks))
    assert next(ticks) < 130
    assert [each.getMessage() for each in caplog.records] == [
        f"spielleiter: {folder} could not be removed completely: it takes too long; a later run tries again"
    ]
    remove_stale_folders()
    assert not folder.exists()


def test_a_link_is_neither_followed_nor_opened(place: Path, tmp_path: Path) -> None:
    """Anybody can plant one in the system's folder for temporary files."""
    target = tmp_path / "target"
    (target / "below").mkdir(parents=True)
    (target / "below" / "file").touch()
    (target / "below").chmod(0o750)
    target.chmod(0o711)
    assert remove_folder(place / "missing" / "below")  # what is not there is no failure
    for folder in (place, new_folder().parent):
        (folder / STALE).symlink_to(target)
        remove_stale_folders()
        assert (target.stat().st_mode & 0o777, (target / "below").stat().st_mode & 0o777) == (0o711, 0o750)
        remove_folder(folder / STALE)
        (folder / "other" / "deep").mkdir(parents=True)
        (folder / "other" / "deep" / "link").symlink_to(target)
        assert remove_folder(folder / "other")
        assert (target / "below" / "file").exists()
        assert (target.stat().st_mode & 0o777, (target / "below").stat().st_mode & 0o777) == (0o711, 0o750)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_folder_of_another_user_is_left_alone(place: Path) -> None:
    folder = place / STALE
    (folder / "below").mkdir(parents=True)
    os.chown(folder, 65534, 65534)
    remove_stale_folders()
    assert not remove_folder(folder)
    assert (folder / "below").is_dir()


def test_a_planted_private_folder_is_not_used(place: Path, tmp_path: Path) -> None:
    """Neither a link to a folder of this user, nor a folder of another one, nor a file."""
    private = new_folder().parent
    assert private.parent == place
    private.chmod(0o777)
    assert [each.stat().st_mode & 0o777 for each in (new_folder(), private)] == [0o700, 0o700]
    for folder in private.iterdir():
        remove_folder(folder)
    private.rmdir()
    target = tmp_path / "target"
    target.mkdir()
    target.chmod(0o711)  # whatever the umask is
    private.symlink_to(target)
    assert new_folder().parent == place
    assert (list(target.iterdir()), target.stat().st_mode & 0o777) == ([], 0o711)
    private.unlink()
    private.touch()
    assert new_folder().parent == place
    if os.geteuid() == 0:
        private.unlink()
        private.mkdir()
        os.chown(private, 65534, 65534)
        assert new_folder().parent == place
    assert all(each.stat().st_mode & 0o777 == 0o700 for each in place.iterdir() if each.name.count("-") == 4)


def test_a_folder_of_a_killed_process_is_removed_by_a_later_one(place: Path) -> None:
    code = (
        "import os, tempfile, sys; tempfile.tempdir = sys.argv[1];"
        "from spielleiter.programs.temporary_folders import new_folder; print(new_folder()); sys.stdout.flush();"
        "os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(place)], capture_output=True, text=True, check=False)
    left = Path(done.stdout.strip())
    assert left.is_dir()
    assert is_stale(left.name)
    own = new_folder()
    prefix, name_space, pid, _, token = own.name.split("-")
    later, other = f"{prefix}-{name_space}-{pid}-1-{token}", f"{LABEL_PREFIX}-x"  # another process had this id
    for name in (later, other):
        (place / name).mkdir()
    remove_stale_folders()
    assert [each.exists() for each in (left, own, place / later, place / other)] == [False, True, False, True]
    assert not is_stale(STALE.replace(LABEL_PREFIX, "other"))
    assert not is_stale(f"{prefix}-{name_space}-{pid}-0-{token}"), "its process did not know when it was started"


@pytest.mark.slow
def test_a_process_in_another_name_space_of_process_ids_removes_nothing(place: Path) -> None:
    """Such as a container that has this machine's folder for temporary files: it cannot see our processes."""
    user = [] if os.geteuid() == 0 else ["--map-current-user"]
    inside = ["unshare", *user, "--pid", "--fork", "--mount-proc", sys.executable, "-c"]
    code = (
        "import os, tempfile, sys; tempfile.tempdir = sys.argv[1]; assert os.getpid() == 1;"
        "from spielleiter.programs.temporary_folders import new_folder, remove_stale_folders;"
        "remove_stale_folders(); print(new_folder())"
    )
    own = new_folder()
    try:
        done = subprocess.run([*inside, code, str(place)], capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"unshare cannot be started: {error}")
    if done.stderr.startswith("unshare: "):
        pytest.skip(done.stderr)
    assert own.exists()
    assert done.stderr == ""
    left = Path(done.stdout.strip())
    remove_stale_folders()
    assert left.exists(), "nobody here can tell whether its process has ended"
