"""The packages of a league as files: the ZIP for checks and helpers, and unpacked for the arena.

They are copies from the database that can be dropped at any time, and are made again when they are needed.

Invariants: a file is complete or not there. A folder is never changed after it was made: a sandbox works on a copy. No
package is read in this process: a large or hostile one would stop the pages.
"""

from __future__ import annotations

import itertools
import os
import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
import trio

from spielleiter.common.files import write_whole
from spielleiter.league import versions as stored_versions
from spielleiter.league.check_messages import FindNeeds, StartUnpacking, Unpacked
from spielleiter.league.checks import find_needs, unpack_upload
from spielleiter.league.database import Database
from spielleiter.league.model import Version
from spielleiter.league.package_needs import PackageNeeds
from spielleiter.programs.temporary_folders import remove_folder

FOLDER: Final = "cache"
"""The folder of these files, in that of the league."""
MOST_KEPT: Final = 300
"""The number of packages that are kept unpacked; of more, those that were not used for longest are dropped."""


Unpack: TypeAlias = Callable[[StartUnpacking], Awaitable[Unpacked]]
"""Unpacks an upload, as `checks.unpack_upload` does."""
Needs: TypeAlias = Callable[[FindNeeds], Awaitable[PackageNeeds]]
"""Tells what an upload needs, as `checks.find_needs` does."""


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

    def __init__(
        self, database: Database, folder: Path, *, unpack: Unpack = unpack_upload, needs: Needs = find_needs
    ) -> None:
        self._database = database
        self._folder = folder / FOLDER
        self._unpack = unpack
        self._find_needs = needs
        self._locks: dict[str, trio.Lock] = {}
        self._turn = trio.Lock()
        """For unpacking one at a time, since games need the processor more."""
        self._numbers = itertools.count()
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

        Raises MissingPackageError, NotCheckedError and OSError.
        """
        path = await self.zip_of(version)
        key = path.stem, version.main, version.parameters
        async with self._locks[path.stem]:
            found = self._unpacked.pop(key, None)
            if found is None:
                place = (self._folder / f"{path.stem}-{next(self._numbers)}").absolute()
                order = StartUnpacking(os.fspath(path), version.main, parameters_of(version), os.fspath(place))
                try:
                    async with self._turn:
                        unpacked = await self._unpack(order)
                except BaseException:
                    with trio.CancelScope(shield=True):
                        await trio.to_thread.run_sync(remove_folder, place)
                    raise
                found = UnpackedProgram(unpacked.command, order.folder, unpacked.python_version)
            self._unpacked[key] = found
        if len(self._unpacked) > MOST_KEPT:
            oldest = self._unpacked.pop(next(iter(self._unpacked)))
            await trio.to_thread.run_sync(remove_folder, Path(oldest.folder))
        return found

    async def needs_of(self, version: Version) -> PackageNeeds:
        """Return what the package of a version needs. Raises MissingPackageError, NotCheckedError and OSError."""
        return await self._find_needs(FindNeeds(os.fspath(await self.zip_of(version)), version.main))


def parameters_of(version: Version) -> tuple[str, ...]:
    """The further parameters of a version as words. A quote that is not closed is a character like others."""
    try:
        return tuple(shlex.split(version.parameters))
    except ValueError:
        return tuple(version.parameters.split())


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(path, content)
