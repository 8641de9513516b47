"""The folders of one run: a copy of the program's folder, a home folder and a temporary folder.

Invariants: the folders are removed after the run. Nothing that a program does changes the folder that was copied.
Symbolic links are copied as links. Removing the folders never raises: what cannot be removed is left to the system,
which empties the folder for temporary files.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from spielleiter.match.programs.platforms import PLATFORM
from spielleiter.match.sandbox.sandbox import Layout

LABEL_PREFIX: Final = "spielleiter"

_Snapshot = dict[str, tuple[int, int, int]]


class Scratch:
    """The folders of one run, made from a copy of `source`. Blocks. Raises OSError."""

    def __init__(self, source: Path) -> None:
        self._root = make_folder()
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
        except BaseException:
            self.remove()
            raise
        self._before = self._snapshot()

    def written(self) -> tuple[int, int]:
        """Return the number of files that are new or changed, and their size in bytes. Blocks."""
        changed = [entry for path, entry in self._snapshot().items() if self._before.get(path) != entry]
        return len(changed), sum(size for size, _, _ in changed)

    def remove(self) -> None:
        """Remove the folders, also those that the program has made read-only. Blocks."""
        remove_folder(self._root)

    def _snapshot(self) -> _Snapshot:
        folders = (self.layout.program, self.layout.home, self.layout.temporary)
        return {path: entry for folder in folders for path, entry in _files(folder)}


def _files(folder: Path) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Yield each regular file below `folder` with its size, time of change and inode."""
    for path, _, names in os.walk(folder):
        for name in names:
            full = os.path.join(path, name)  # noqa: PTH118
            with contextlib.suppress(OSError):
                status = os.lstat(full)
                if stat.S_ISREG(status.st_mode):
                    yield full, (status.st_size, status.st_mtime_ns, status.st_ino)


def remove_stale_folders() -> None:
    """Remove the folders of earlier runs whose process was killed. Blocks."""
    for path in Path(tempfile.gettempdir()).glob(f"{LABEL_PREFIX}-*"):
        if is_stale(path.name):
            remove_folder(path)


def make_folder() -> Path:
    """Make an empty folder that only this user can open. Its name says which process it belongs to. Raises OSError."""
    label = f"{LABEL_PREFIX}-{os.getpid()}-{PLATFORM.start_stamp(os.getpid()) or 0}-{secrets.token_hex(4)}"
    folder = Path(tempfile.gettempdir(), label)
    folder.mkdir(mode=stat.S_IRWXU)
    return folder


def remove_folder(root: Path) -> None:
    """Remove a folder with everything in it, also what a program has made read-only. Blocks."""
    shutil.rmtree(root, ignore_errors=True)
    if root.exists():
        for folder, subfolders, _ in os.walk(root):
            for path in (Path(folder, name) for name in subfolders):  # before `walk` opens them
                with contextlib.suppress(OSError):
                    if not path.is_symlink():
                        path.chmod(stat.S_IRWXU)
        shutil.rmtree(root, ignore_errors=True)


def is_stale(label: str) -> bool:
    """Return whether a run's label belongs to a process of this machine that has ended."""
    match label.split("-"):
        case [prefix, pid, ticks, _] if prefix == LABEL_PREFIX and pid.isdecimal() and ticks.isdecimal():
            return PLATFORM.start_stamp(int(pid)) != int(ticks)
        case _:
            return False
