"""The packages among the programs of a match: inspected before it, and unpacked once for all of its games.

The folder with the unpacked programs is removed at the end of the match, however it ends.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from spielleiter.common.errors import MachineError, SetupError, os_error_text
from spielleiter.match.setup import Entrant, MatchSetup
from spielleiter.programs.command_line import join_command
from spielleiter.programs.packages.faults import PackageError
from spielleiter.programs.packages.inspection import Inspection, inspect_package
from spielleiter.programs.packages.package import unpack_package
from spielleiter.programs.program import Command
from spielleiter.programs.temporary_folders import new_folder, remove_folder, remove_stale_folders


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
        package = unpack_package(_path_of(command, cwd), folder, entrant.main or None, command.parameters)
    except OSError as error:
        raise MachineError(os_error_text(error)) from None
    return dataclasses.replace(entrant, command=join_command(package.words), cwd=str(folder), main="")


def _commands_of(setup: MatchSetup) -> list[Command]:
    return [Command.parse(each.command, setup.cwd_of(program)) for program, each in enumerate(setup.entrants)]


def _path_of(command: Command, cwd: str) -> Path:
    return Path(cwd, command.words[0])
