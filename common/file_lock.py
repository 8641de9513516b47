"""Locks on files, so that two servers, or two matches, do not write to the same directory.

Invariants: a lock belongs to an open file and ends when that is closed, however the process ends, so a crash leaves no
lock behind. On a file system without locks, nothing is locked and everything else works.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from typing import Final

LOCK_NAME: Final = ".lock"
_WINDOWS_OFFSET: Final = 0x7FFF_0000
"""Windows locks bytes and lets no other process read them, so the locked byte lies far behind the content."""
_HELD_ELSEWHERE: Final = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, getattr(errno, "EDEADLK", 0)})


class LockedError(BlockingIOError):
    """Another process holds the lock."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EWOULDBLOCK, "another server writes there", str(path))


def lock_file(descriptor: int, path: Path) -> None:
    """Lock an open regular file until it is closed; other files (``/dev/null``) may have many writers.

    `path` is used in the error only. Raises LockedError.
    """
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return
    try:
        _lock(descriptor)
    except OSError as error:
        if error.errno in _HELD_ELSEWHERE:
            raise LockedError(path) from None


def is_at(descriptor: int, path: Path) -> bool:
    """Return whether the open file is still the one at `path`, and has not been removed, renamed or replaced."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


class FolderLock:
    """A lock on a directory, by a file in it, from its construction until `close`."""

    def __init__(self, folder: Path) -> None:
        """Lock `folder`. Raises OSError; LockedError if another process has locked it."""
        self._path = folder / LOCK_NAME
        self._descriptor: int | None = None
        self.hold()

    def hold(self) -> None:
        """Lock the directory again if it has been removed since; make it if it does not exist.

        Raises what the constructor raises.
        """
        if self._descriptor is not None and is_at(self._descriptor, self._path):
            return
        self.close()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            lock_file(descriptor, self._path.parent)
        except LockedError:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def close(self) -> None:
        """Unlock the directory. The file stays, because removing it might remove another server's lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _lock(descriptor: int) -> None:
    """Lock the file without waiting. Raises OSError."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, _WINDOWS_OFFSET, os.SEEK_SET)  # in append mode, writes go to the end nevertheless
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
