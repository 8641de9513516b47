"""The environment variables of programs, and their home folders.

A program gets the few variables that its platform names (`Platform.program_variables`), a home folder of its own, the
variables that were passed on by name, and those that were set for it; no other variable of this process.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

import trio

from spielleiter.common.errors import SetupError
from spielleiter.programs.temporary_folders import new_folder, remove_folder
from spielleiter.programs.this_platform import PLATFORM


def inherited_variables() -> dict[str, str]:
    """Return the variables of this process that every program gets."""
    return {name: value for name, value in os.environ.items() if name in PLATFORM.program_variables}


def own_variables() -> dict[str, str]:
    """Return the variables for a process of our own, which needs the settings of this Python as well."""
    return inherited_variables() | {name: value for name, value in os.environ.items() if name.startswith("PYTHON")}


def added_variables(passed: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a program gets beside those of every program.

    These are the variables of this process named in `passed`, as far as they are set, and `environment`, which takes
    precedence.
    """
    return {name: os.environ[name] for name in passed if name in os.environ} | dict(environment)


def require_set(passed: Iterable[str]) -> None:
    """Raise SetupError if one of these variables is not set in this process."""
    missing = [name for name in passed if name not in os.environ]
    if missing:
        raise SetupError(f"there is no variable {missing[0]} to pass on; set it, or do not name it")


@asynccontextmanager
async def open_home() -> AsyncIterator[dict[str, str]]:
    """Make a home folder for one process, and yield the variables that lead to it; remove it at the end.

    Raises OSError.
    """
    folder = new_folder()
    try:
        yield PLATFORM.home_variables(str(folder))
    finally:
        try:
            folder.rmdir()  # it is usually still empty
        except OSError:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(remove_folder, folder)
