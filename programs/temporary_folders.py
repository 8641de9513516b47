"""Folders for temporary files: made where no other user can reach them, removed whatever a program has made in them.

They are in one folder below that of the system, which belongs to this user and is closed to all others. The
name of each one says which process has made it, so that a later process removes what a killed one has left. What was
made in another name space of process ids, such as that of a container that shares the folder, is left alone: its
processes cannot be seen. Removing follows no link, takes limited time, few open files and no recursion, and never
raises.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import logging
import os
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from spielleiter.common.files import remove_tree
from spielleiter.programs.this_platform import PLATFORM

LABEL_PREFIX: Final = "spielleiter"
REMOVE_TIMEOUT: Final = 60.0
"""Seconds for removing a folder."""
STALE_TIMEOUT: Final = 20.0
"""Seconds for removing the folders of earlier processes."""

_log = logging.getLogger(__name__)


def new_label() -> str:
    """Return a name that no other folder on this machine has, and that `is_stale` understands."""
    process = f"{PLATFORM.pid_name_space()}-{os.getpid()}-{PLATFORM.start_stamp(os.getpid()) or 0}"
    return f"{LABEL_PREFIX}-{process}-{secrets.token_hex(4)}"


def is_stale(label: str) -> bool:
    """Return whether a label was made by a process that has ended; False if this process cannot know that."""
    match label.split("-"):
        case [prefix, name_space, pid, stamp, _] if prefix == LABEL_PREFIX and pid.isdecimal() and stamp.isdecimal():
            is_known = stamp != "0" and name_space == str(PLATFORM.pid_name_space())
            return is_known and PLATFORM.start_stamp(int(pid)) != int(stamp)
        case _:
            return False


def new_folder() -> Path:
    """Make an empty folder that only this user can enter. Its name is a label. Blocks. Raises OSError."""
    try:
        parent = _private_folder()
    except OSError:  # somebody else has taken the name; a folder of our own beside it is as closed
        parent = Path(tempfile.gettempdir())
    folder = parent / new_label()
    folder.mkdir(mode=stat.S_IRWXU)
    return folder


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder as `new_folder` does, and remove it at the end. Blocks. Raises OSError."""
    folder = new_folder()
    try:
        yield folder
    finally:
        remove_folder(folder)


def remove_folder(
    folder: Path, seconds: float = REMOVE_TIMEOUT, *, clock: Callable[[], float] = time.monotonic
) -> bool:
    """Remove a folder of this user with everything in it, also what its programs have made read-only.

    Links are removed and not followed. Return whether the folder is gone. If something cannot be removed within
    `seconds`, there is one warning, and `remove_stale_folders` tries again. Blocks.
    """
    problem = ""
    try:
        _remove(folder, clock() + seconds, clock)
    except (OSError, RecursionError) as error:
        problem = f": {error.strerror or error}" if isinstance(error, OSError) else ""
    is_gone = not os.path.lexists(folder)
    if not is_gone:
        _log.warning("spielleiter: %s could not be removed completely%s; a later run tries again", folder, problem)
    return is_gone


def remove_game_folder(folder: Path) -> None:
    """Remove a game's folder, which programs of the same user can find and fill. Blocks.

    If something cannot be removed, there is one warning.
    """
    with contextlib.suppress(OSError, RecursionError):
        if sys.platform != "win32" and folder.stat().st_uid != os.geteuid():  # as on some shared file systems
            remove_tree(folder)
            return
    remove_folder(folder)


def remove_stale_folders(seconds: float = STALE_TIMEOUT) -> None:
    """Remove the folders of earlier processes that were killed, in `seconds` at most. Blocks."""
    deadline = time.monotonic() + seconds
    parents = [Path(tempfile.gettempdir())]
    with contextlib.suppress(OSError):
        parents.insert(0, _private_folder())
    for parent in parents:
        with contextlib.suppress(OSError):
            for entry in [each for each in os.scandir(parent) if is_stale(each.name)]:
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False) and (
                        sys.platform == "win32" or entry.stat(follow_symlinks=False).st_uid == os.geteuid()
                    ):
                        remove_folder(Path(entry), max(0.0, deadline - time.monotonic()))


def _private_folder() -> Path:
    """Return the folder for all folders of this user, which is made if necessary.

    Raises OSError, also if there is a link or something that belongs to another user.
    """
    if sys.platform == "win32":  # each user has a folder for temporary files of his own
        folder = Path(tempfile.gettempdir(), LABEL_PREFIX)
        folder.mkdir(exist_ok=True)
        return folder
    folder = Path(tempfile.gettempdir(), f"{LABEL_PREFIX}-{os.geteuid()}")
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=stat.S_IRWXU)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "belongs to another user", str(folder))
        if stat.S_IMODE(status.st_mode) != stat.S_IRWXU:
            os.fchmod(descriptor, stat.S_IRWXU)
    finally:
        os.close(descriptor)
    return folder


if sys.platform == "win32":

    def _remove(folder: Path, deadline: float, clock: Callable[[], float]) -> None:
        """Remove `folder`, also what is read-only. Raises OSError and RecursionError."""
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            for path, folders, files in os.walk(folder):
                for each in (Path(path, name) for name in (*folders, *files)):
                    with contextlib.suppress(OSError):
                        if not each.is_symlink():
                            each.chmod(stat.S_IRWXU)
            remove_tree(folder, deadline - clock())

else:

    def _remove(folder: Path, deadline: float, clock: Callable[[], float]) -> None:
        """Remove `folder` by the `deadline`. Raises OSError, but only after everything else has been removed."""
        parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            top = _open_folder(folder.name, parent)
            try:
                status = os.fstat(top)
                if status.st_uid != os.geteuid():
                    raise PermissionError(errno.EPERM, "belongs to another user")
                _Removal(top, status.st_dev, deadline, clock).run()
            finally:
                os.close(top)
            os.rmdir(folder.name, dir_fd=parent)
        finally:
            os.close(parent)

    class _Removal:
        """Removes everything in the open folder `top`, which is on the file system `device`.

        Each folder below is moved to the top before it is emptied. So neither the depth nor the length of a path
        matters, and every folder is moved once.
        """

        def __init__(self, top: int, device: int, deadline: float, clock: Callable[[], float]) -> None:
            self._top = top
            self._device = device
            self._deadline = deadline
            self._clock = clock
            token = secrets.token_hex(8)
            self._new_names = (f"{token}-{number}" for number in itertools.count())
            self._pending: list[str] = []
            self._count = 0  # of what was removed or moved
            self._error: OSError | None = None

        def run(self) -> None:
            """Remove as much as possible. Raises the last OSError."""
            before = -1
            while self._count > before:  # a file system may leave out names while others are removed
                before, self._error = self._count, None
                self._empty(self._top)
                while self._pending:
                    self._require_time()
                    self._remove_folder(self._pending.pop())
            if self._error is not None:
                raise self._error

        def _require_time(self) -> None:
            if self._clock() > self._deadline:
                raise TimeoutError(errno.ETIMEDOUT, "it takes too long")

        def _remove_folder(self, name: str) -> None:
            """Remove a folder at the top after it was emptied. Raises TimeoutError."""
            before = self._count
            try:
                descriptor = _open_folder(name, self._top)
                try:
                    if os.fstat(descriptor).st_dev != self._device:
                        raise OSError(errno.EBUSY, "something is mounted in it")
                    self._empty(descriptor)
                    os.rmdir(name, dir_fd=self._top)
                    self._count += 1
                finally:
                    os.close(descriptor)
            except TimeoutError:
                raise
            except OSError as error:
                if self._count > before:
                    self._pending.append(name)
                else:
                    self._error = error

        def _empty(self, descriptor: int) -> None:
            """Remove the files of a folder, and move the folders in it to the top. Raises TimeoutError."""
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    self._require_time()
                    try:
                        if not entry.is_dir(follow_symlinks=False):
                            os.unlink(entry.name, dir_fd=descriptor)
                            self._count += 1
                        elif descriptor == self._top:
                            self._pending.append(entry.name)
                        else:
                            self._pending.append(self._moved(entry.name, descriptor))
                            self._count += 1
                    except OSError as error:
                        self._error = error

        def _moved(self, name: str, descriptor: int) -> str:
            """Move a folder to the top and return its new name. Raises OSError."""
            new = next(self._new_names)
            try:
                os.rename(name, new, src_dir_fd=descriptor, dst_dir_fd=self._top)
            except PermissionError:  # its owner needs the right to write to it
                os.close(_open_folder(name, descriptor))
                os.rename(name, new, src_dir_fd=descriptor, dst_dir_fd=self._top)
            return new

    def _open_folder(name: str, parent: int) -> int:
        """Open a folder, and let its owner read, write and enter it. Raises OSError, also for a link."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
        try:
            descriptor = os.open(name, flags, dir_fd=parent)
        except PermissionError:  # give its owner all rights, without following a link
            if sys.platform != "linux":
                os.chmod(name, stat.S_IRWXU, dir_fd=parent, follow_symlinks=False)
            else:
                locked = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
                try:
                    os.chmod(f"/proc/self/fd/{locked}", stat.S_IRWXU)  # noqa: PTH101 - its name would follow a link
                finally:
                    os.close(locked)
            descriptor = os.open(name, flags, dir_fd=parent)
        try:
            if os.fstat(descriptor).st_mode & stat.S_IRWXU != stat.S_IRWXU:
                os.fchmod(descriptor, stat.S_IRWXU)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor
