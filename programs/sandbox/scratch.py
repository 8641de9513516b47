"""The folders of one run: a copy of the program's folder, a home folder and a temporary folder.

Invariants: the folders are removed after the run. Nothing that a program does changes the folder that was copied.
Symbolic links are copied as links. Nothing here follows a link, or takes longer the more a program has written.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from spielleiter.programs.sandbox.sandbox import Layout
from spielleiter.programs.temporary_folders import new_folder, remove_folder

MAX_COUNTED: Final = 100_000
"""The most files that are looked at to count what a program has written."""

_BLOCK: Final = 512  # bytes of a block in `st_blocks`
_Snapshot = dict[str, tuple[int, int, int]]


class Scratch:
    """The folders of one run, made from a copy of `source`. Blocks. Raises OSError."""

    def __init__(self, source: Path) -> None:
        self._root = new_folder()
        self.layout = Layout(
            root=self._root,
            program=self._root / "program",
            home=self._root / "home",
            temporary=self._root / "tmp",
            control=self._root / "control",
            label=self._root.name,
        )
        try:
            shutil.copytree(source, self.layout.program, symlinks=True)
            for folder in (self.layout.home, self.layout.temporary, self.layout.control):
                folder.mkdir()
        except BaseException as error:
            self.remove()
            if isinstance(error, RecursionError):  # of the copying, for folders that are nested too deeply
                raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), str(source)) from None
            raise
        self._before = self._snapshot()

    def written(self) -> tuple[int, int]:
        """Return the number of files that are new or changed, and how many bytes of them are on the disk. Blocks.

        Not counted are files beyond MAX_COUNTED, those whose path is too long for the system, and those in folders that
        the program has locked.
        """
        changed = [entry for path, entry in self._snapshot().items() if self._before.get(path) != entry]
        return len(changed), sum(size for size, _, _ in changed)

    def remove(self) -> None:
        """Remove the folders, also those that the program has made read-only. Blocks."""
        remove_folder(self._root)

    def _snapshot(self) -> _Snapshot:
        folders = (self.layout.program, self.layout.home, self.layout.temporary)
        files = itertools.chain.from_iterable(map(_files, folders))
        return dict(itertools.islice(files, MAX_COUNTED))


def _files(folder: Path) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Yield each regular file below `folder` with its size on the disk, time of change and inode."""
    pending = [str(folder)]
    while pending:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        pending.append(entry.path)
                    elif stat.S_ISREG(status.st_mode):
                        yield entry.path, (_size_of(status), status.st_mtime_ns, status.st_ino)


def _size_of(status: os.stat_result) -> int:
    """Return the size of a file in bytes, without its holes."""
    return min(status.st_size, getattr(status, "st_blocks", status.st_size) * _BLOCK)
