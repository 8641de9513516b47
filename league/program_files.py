"""The packages of a league as files: the ZIP for checks and helpers, and unpacked for the arena.

They are copies from the database that can be dropped at any time, and are made again when they are needed.

Invariants: a file is complete or not there. A folder is never changed after it was made: a sandbox works on a copy.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Final

import msgspec
import trio

from spielleiter.common.files import write_whole
from spielleiter.league import versions as stored_versions
from spielleiter.league.database import Database
from spielleiter.league.model import Version
from spielleiter.programs.command import join_command
from spielleiter.programs.packages.package import inspect_package, unpack_package
from spielleiter.programs.temporary_folders import remove_folder

FOLDER: Final = "cache"
"""The folder of these files, in that of the league."""
MOST_KEPT: Final = 300
"""The number of packages that are kept unpacked; of more, those that were not used for longest are dropped."""


class MissingPackageError(Exception):
    """The package of a version is no longer there."""


class UnpackedProgram(msgspec.Struct, frozen=True):
    """A program that can be started."""

    command: str
    folder: str
    python_version: str
    """The version of Python that it is built for; empty if that does not matter."""


class ProgramFiles:
    """The files of the packages in `database`, below `folder`, which is emptied first."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._folder = folder / FOLDER
        self._locks: dict[str, trio.Lock] = {}
        # Python 3.11 and 3.12 cannot make two syntax trees at once, and an inspection makes them
        self._inspections = trio.CapacityLimiter(1)
        self._unpacked: dict[tuple[str, str, str], UnpackedProgram] = {}
        """By digest, main file and parameters, in the order of their last use."""
        remove_folder(self._folder)

    async def zip_of(self, version: Version) -> Path:
        """Return the ZIP file of a version. Raises MissingPackageError and OSError."""
        digest = version.sha256
        if digest is None:
            raise MissingPackageError(f"{version.label} has no package")
        path = self._folder / f"{digest}.zip"
        async with self._locks.setdefault(digest, trio.Lock()):
            if not path.exists():
                content = await self._database.read(stored_versions.package, digest)
                if content is None:
                    raise MissingPackageError(f"{version.label} has no package")
                await trio.to_thread.run_sync(_write, path, content)
        return path

    async def program_of(self, version: Version) -> UnpackedProgram:
        """Return the unpacked program of an accepted version.

        Raises MissingPackageError, PackageError and OSError.
        """
        path = await self.zip_of(version)
        key = path.stem, version.main, version.parameters
        async with self._locks[path.stem]:
            found = self._unpacked.pop(key, None)
            if found is None:
                place = self._folder / f"{path.stem}-{len(self._unpacked)}-{version.id}"
                found = await trio.to_thread.run_sync(_unpack, path, place, version, limiter=self._inspections)
            self._unpacked[key] = found
        if len(self._unpacked) > MOST_KEPT:
            oldest = self._unpacked.pop(next(iter(self._unpacked)))
            await trio.to_thread.run_sync(remove_folder, Path(oldest.folder))
        return found


def parameters_of(version: Version) -> tuple[str, ...]:
    """The further parameters of a version as words. A quote that is not closed is a character like others."""
    try:
        return tuple(shlex.split(version.parameters))
    except ValueError:
        return tuple(version.parameters.split())


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(path, content)


def _unpack(path: Path, place: Path, version: Version) -> UnpackedProgram:
    main = version.main or None
    remove_folder(place)
    package = unpack_package(path, place, main, parameters_of(version))
    inspection = inspect_package(path, main)
    return UnpackedProgram(join_command(package.words), os.fspath(place.absolute()), inspection.python_version)
