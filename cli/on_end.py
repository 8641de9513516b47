"""`--on-end CMD`: a command that is run when a match or a tournament is over.

Invariants: the command never changes the exit code of the match. No shell interprets it. Its output goes to standard
error, since standard output contains only the answer.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import click

from spielleiter.cli.commands import Misuse, print_line
from spielleiter.cli.decorated import Decorated

_STANDARD_ERROR: Final = 2  # the descriptor

FOLDER: Final = "MATCH_FOLDER"
SUMMARY: Final = "MATCH_SUMMARY"
EXIT_CODE: Final = "MATCH_EXIT_CODE"
"""Additional variables in the environment of the command."""


def on_end_option(command: Decorated) -> Decorated:
    """Decorate a command with `--on-end`; the parameter `on_end` is a list of words, or None."""
    return click.option(
        "--on-end",
        metavar="CMD",
        callback=_read,
        help="Run CMD FOLDER SUMMARY at the end; it does not change the exit code.",
    )(command)


def read_on_end(text: str) -> list[str]:
    """The words of a command. Raises ValueError with the reason if the command cannot be started."""
    from spielleiter.programs.command import split_command
    from spielleiter.programs.windows_command import windows_words

    try:
        words = [os.path.expanduser(word) for word in split_command(text)]  # noqa: PTH111 - Path.expanduser raises
    except ValueError as error:
        raise ValueError(str(error).lower()) from None
    if not words:
        raise ValueError("expected a command")
    started = windows_words(words, "") if sys.platform == "win32" else words
    if shutil.which(started[0]) is None:
        raise ValueError(f"there is no program {words[0]}, or it may not be executed")
    return words


def described_on_end(text: str | None) -> list[str] | None:
    """The command that a tournament file names; None if it names none. Raises Misuse."""
    try:
        return None if text is None else read_on_end(text)
    except ValueError as error:
        raise Misuse(f"on_end {text!r}: {error}") from None


def _read(_context: click.Context, _parameter: click.Parameter, value: str | None) -> list[str] | None:
    if value is None:
        return None
    try:
        return read_on_end(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r}: {error}") from None


def run_on_end(words: list[str] | None, folder: Path, summary: Path, exit_code: int) -> None:
    """Run the command, if there is one, and print a line if it fails. `summary` is the file with the answer."""
    if words is None:
        return
    from spielleiter.programs.windows_command import command_line, windows_words

    paths = [str(folder.absolute()), str(summary.absolute())]
    variables = {FOLDER: paths[0], SUMMARY: paths[1], EXIT_CODE: str(exit_code)}
    sys.stderr.flush()
    try:
        code = subprocess.run(  # noqa: S603 - the user wants this command to be run
            command_line(windows_words([*words, *paths], "")) if sys.platform == "win32" else [*words, *paths],
            stdin=subprocess.DEVNULL,
            stdout=_STANDARD_ERROR,
            env={**os.environ, **variables},
            check=False,
        ).returncode
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        print_line(f"--on-end {words[0]}: cannot be started ({reason or error})", err=True)
        return
    if code:
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        print_line(f"--on-end {words[0]}: {how}", err=True)
