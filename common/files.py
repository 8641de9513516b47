"""Files that are written whole, locked, removed, and named so that every common system accepts them."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

# -- names ------------------------------------------------------------------------------------------------------------

MAX_BYTES: Final = 240
"""The most bytes of a name; common systems allow 255, and some callers add a number."""
FORBIDDEN: Final = r'[\x00-\x1f\x7f/\\:*?"<>|\ud800-\udfff]'
"""A pattern of the characters that a name cannot contain on one of these systems, and of lone surrogates.

It is compiled when it is first used: that takes as long as importing this module.
"""

_RESERVED: Final = r"(?i)(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\.|$)"
_LONGEST_SUFFIX: Final = 20


def portable_name(name: str) -> str:
    """Return `name` with an underscore in place of everything that Windows, macOS or Linux refuses or changes.

    A name that is too long is cut, but keeps a suffix such as ``.xml``. A portable name is returned as it is.
    """
    name = re.sub(FORBIDDEN, "_", name)
    if len(name.encode()) > MAX_BYTES:
        stem, dot, suffix = name.rpartition(".")
        ending = f"{dot}{suffix}" if stem and len(suffix) < _LONGEST_SUFFIX else ""
        name = cut_to(name.removesuffix(ending), MAX_BYTES - len(ending.encode())) + ending
    if name.endswith((" ", ".")):
        name = name[:-1] + "_"
    if re.match(_RESERVED, name):
        name = f"_{name}" if len(name.encode()) < MAX_BYTES else f"_{name[1:]}"
    return name or "_"


def cut_to(text: str, size: int) -> str:
    """Return the beginning of `text` that takes at most `size` bytes in UTF-8."""
    return text.encode()[:size].decode(errors="ignore")


# -- writing ----------------------------------------------------------------------------------------------------------


def written_parts(write: Callable[[memoryview], int | None], data: bytes | bytearray | memoryview) -> Iterator[int]:
    """Write `data` with `write`, and yield after each call how many bytes that call has written.

    `write` is `FileIO.write`, or `os.write` with its descriptor: it takes bytes and returns how many it has written.
    Raises what `write` raises, and OSError (ENOSPC) if it writes nothing.
    """
    rest = memoryview(data)
    while rest:
        written = write(rest)
        if not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        rest = rest[written:]
        yield written


def write_all(write: Callable[[memoryview], int | None], data: bytes | bytearray | memoryview) -> None:
    """Write all of `data` with `write`. Raises what `written_parts` raises."""
    for _ in written_parts(write, data):
        pass


_numbers: Final = itertools.count()
_KEPT_NAME: Final = 40  # characters of the name in that of the temporary file, which has at most 255 bytes


def write_whole(path: Path, content: bytes | str) -> None:
    """Write `content` to the file at `path`, replacing an existing one. Raises OSError, which names `path`.

    Text is written as UTF-8; lone surrogates, which cannot be encoded, become backslash escapes. A symbolic link stays,
    and what it points to is replaced. What cannot be replaced, such as ``/dev/stdout``, is written to.
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    with _naming(path):
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return
        # Renamed at the end, so that whoever reads the file, and whenever this process ends, it has its old content or
        # the new one. The name belongs to this process: whatever was left there is removed, never written to.
        temporary = target.with_name(f".{target.name[:_KEPT_NAME]}.{os.getpid()}-{next(_numbers)}.tmp")
        temporary.unlink(missing_ok=True)
        try:
            with temporary.open("xb") as file:
                file.write(data)
            temporary.replace(target)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise


def require_writable(path: Path) -> None:
    """Raise OSError if `write_whole` could not write to `path`; nothing is changed."""
    with _naming(path):
        target = Path(os.path.realpath(path))
        if target.is_file() or not target.exists():
            with tempfile.TemporaryFile(dir=target.parent):
                pass
        elif not target.is_fifo():  # opening that would wait for its reader
            with target.open("ab"):
                pass


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Raise an OSError with the path that the user knows, not that of a temporary file."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


# -- locks ------------------------------------------------------------------------------------------------------------
# A lock belongs to an open file and ends when that is closed, so a crash leaves no lock behind. On a file system
# without locks, nothing is locked and everything else works.

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
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, _WINDOWS_OFFSET, os.SEEK_SET)  # in append mode, writes go to the end nevertheless
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
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


# -- removing ----------------------------------------------------------------------------------------------------------
# On Windows, an open file cannot be removed. Virus scanners and search indexes open every new file, and let go of it
# after a moment. Everything that removes folders on Windows does it with this.

REMOVE_TIMEOUT: Final = 10.0
"""Seconds in which a file has to be let go."""
_HELD: Final = frozenset({5, 32, 33, 145})
"""Errors of Windows: access denied, sharing violation, lock violation, and a folder that still has the file in it."""


def remove_tree(
    folder: Path,
    seconds: float = REMOVE_TIMEOUT,
    *,
    remove: Callable[[Path], object] = shutil.rmtree,
    sleep: Callable[[float], object] = time.sleep,
) -> None:
    """Remove a folder with everything in it; on Windows, try again for up to `seconds` while something is open.

    `remove` is the attempt. Blocks. Raises OSError.
    """
    pause = 0.01  # seconds between two attempts
    while True:
        try:
            remove(folder)
        except OSError as error:
            if getattr(error, "winerror", None) not in _HELD or seconds <= 0:
                raise
        else:
            return
        sleep(min(pause, seconds))
        seconds -= pause
        pause = min(2 * pause, 0.5)


@contextlib.contextmanager
def temporary_directory(prefix: str) -> Iterator[Path]:
    """Make a folder for temporary files, and remove it at the end. Blocks. Raises OSError if it cannot be made.

    If it cannot be removed, it stays.
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        with contextlib.suppress(OSError):
            remove_tree(folder)
