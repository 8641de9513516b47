"""Unpacks a contest package into a folder, as the contest does.

Invariants: only a package without RED findings is unpacked, and only below the given folder. The main file is the only
one that may be executed: a ZIP file that was made on Windows does not store that permission, and the contest gives it
to the main file alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from spielleiter.common.files import portable_name
from spielleiter.programs.packages.archive import Archive, open_archive
from spielleiter.programs.packages.faults import PackageError, finding_of
from spielleiter.programs.packages.inspection import inspect_archive

_FILE_MODE: Final = 0o644
_MAIN_MODE: Final = 0o755


@dataclass(frozen=True, slots=True)
class Package:
    """An unpacked contest package."""

    path: Path
    """The ZIP file."""
    folder: Path
    """The folder that holds its files, in which the program is started."""
    main: PurePosixPath
    """The main file, relative to the folder."""
    parameters: tuple[str, ...]
    """Further parameters for the program."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the command line that starts the program, without host, port and reservation."""
        return str(self.folder.absolute() / self.main), *self.parameters


def unpack_package(path: Path, folder: Path, main: str | None = None, parameters: Sequence[str] = ()) -> Package:
    """Unpack the package at `path` into `folder`, which is created, or must be empty.

    Raises PackageError if the package has RED findings, and OSError if the folder is not empty or cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty")
    with open_archive(path) as archive:
        inspection = inspect_archive(archive, main)
        if inspection.red or inspection.main is None:
            raise PackageError(path, inspection.red)
        _write_files(archive, folder)
    (folder / inspection.main).chmod(_MAIN_MODE)
    return Package(path, folder, inspection.main, tuple(parameters))


def _write_files(archive: Archive, folder: Path) -> None:
    if sys.platform == "win32":
        refused = [str(each.path) for each in archive.entries if any(map(_is_refused_by_windows, each.path.parts))]
        if refused:
            raise PackageError(archive.path, [finding_of("windows-name", refused)])
    for entry in archive.entries:
        target = folder / entry.path
        if entry.is_folder:
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = target.open("xb")
        except FileExistsError:  # a file system that does not distinguish upper and lower case
            raise PackageError(archive.path, [finding_of("duplicate-name", [str(entry.path)])]) from None
        with file:
            for chunk in archive.chunks(entry):
                file.write(chunk)
        target.chmod(_FILE_MODE)


def _is_refused_by_windows(name: str) -> bool:
    return portable_name(name) != name
