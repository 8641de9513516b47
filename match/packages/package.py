"""Unpacks a contest package into a folder, as the contest does; for a match, once for all of its games.

Invariants: only a package without RED findings is unpacked, and only below the given folder. The main file is the only
one that may be executed: a ZIP file that was made on Windows does not store that permission, and the contest gives it
to the main file alone. The folder of a match is removed at its end, however it ends.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

import trio

from spielleiter.match.errors import MachineError, SetupError
from spielleiter.match.packages.archive import Archive, open_archive
from spielleiter.match.packages.faults import PackageError, finding_of
from spielleiter.match.packages.inspection import Inspection, inspect_archive, inspect_package
from spielleiter.match.programs.command_line import join_command
from spielleiter.match.programs.program import Command
from spielleiter.match.setup import Entrant, MatchSetup
from spielleiter.match.temporary_folders import new_folder, remove_folder, remove_stale_folders
from spielleiter.server.errors import os_error_text
from spielleiter.server.text.file_names import portable_name

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


def inspect_program(entrant: Entrant, cwd: str) -> Inspection | None:
    """Inspect the package that an entrant names; None if its command does not name one.

    `cwd` is the directory that relative paths start from. Raises SetupError if the package cannot be started, or if
    there are settings that contradict it.
    """
    command = Command.parse(entrant.command, cwd)
    if not command.is_package:
        if entrant.main:
            raise SetupError(f"{entrant.command}: expected no main file, since this is not a ZIP file")
        return None
    if entrant.cwd:
        raise SetupError(f"{entrant.command}: a package is started in its own folder, expected no directory for it")
    path = _path_of(command, cwd)
    inspection = inspect_package(path, entrant.main or None)
    if not inspection.is_startable:
        raise PackageError(Path(command.words[0]), inspection.red)
    return inspection


def unpack_program(command: Command, cwd: str, folder: Path, main: str | None = None) -> tuple[str, Package]:
    """Unpack the package that a command names into `folder`; returns the command line that starts it, and the package.

    `cwd` is the directory that relative paths start from; the program is to be started in `folder`. Raises PackageError
    and OSError.
    """
    package = unpack_package(_path_of(command, cwd), folder, main, command.parameters)
    return join_command(package.words), package


@asynccontextmanager
async def unpacked_programs(setup: MatchSetup) -> AsyncIterator[MatchSetup]:
    """Unpack the packages of a match; the result is the same match, whose commands start the unpacked programs.

    Raises PackageError if a package cannot be started, and MachineError if it cannot be unpacked here.
    """
    if not any(each.is_package for each in _commands_of(setup)):
        yield setup
        return
    try:
        await trio.to_thread.run_sync(remove_stale_folders)
        scratch = await trio.to_thread.run_sync(new_folder)
    except OSError as error:
        raise MachineError(os_error_text(error)) from None
    try:
        yield await trio.to_thread.run_sync(_unpack_all, setup, scratch)
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(remove_folder, scratch)


def _unpack_all(setup: MatchSetup, scratch: Path) -> MatchSetup:
    first, second = (
        _unpacked(entrant, command, setup.cwd, scratch / f"program{number}") if command.is_package else entrant
        for number, (entrant, command) in enumerate(zip(setup.entrants, _commands_of(setup), strict=True), 1)
    )
    return dataclasses.replace(setup, entrants=(first, second))


def _unpacked(entrant: Entrant, command: Command, cwd: str, folder: Path) -> Entrant:
    try:
        text, _ = unpack_program(command, cwd, folder, entrant.main or None)
    except OSError as error:
        raise MachineError(os_error_text(error)) from None
    return dataclasses.replace(entrant, command=text, cwd=str(folder), main="")


def _commands_of(setup: MatchSetup) -> list[Command]:
    return [Command.parse(each.command, setup.cwd_of(program)) for program, each in enumerate(setup.entrants)]


def _path_of(command: Command, cwd: str) -> Path:
    return Path(cwd, command.words[0])
