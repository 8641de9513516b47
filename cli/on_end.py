"""`--on-end CMD`: a command that is run when a match or a tournament is over.

Invariants: whatever becomes of the command, the exit code of the match stays what it is. No shell reads the command.
What it writes goes to standard error, since standard output holds the answer and nothing else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import click

from spielleiter.cli.commands import Misuse, tell
from spielleiter.cli.options import Decorated

_STANDARD_ERROR: Final = 2  # the descriptor

FOLDER: Final = "MATCH_FOLDER"
SUMMARY: Final = "MATCH_SUMMARY"
EXIT_CODE: Final = "MATCH_EXIT_CODE"
"""What the command's environment holds besides."""


def on_end_option(command: Decorated) -> Decorated:
    """The command, as its words: `on_end`, None without one."""
    return click.option(
        "--on-end",
        metavar="CMD",
        callback=_read,
        help="Run CMD FOLDER SUMMARY at the end; it changes nothing in the exit code.",
    )(command)


def read_on_end(text: str) -> list[str]:
    """The words of a command that can be started. Raises ValueError with what is wrong with it."""
    from spielleiter.match.programs.command_line import split_command

    try:
        words = [os.path.expanduser(word) for word in split_command(text)]  # noqa: PTH111 - Path's form raises
    except ValueError as error:
        raise ValueError(str(error).lower()) from None
    if not words:
        raise ValueError("expected a command")
    if shutil.which(words[0]) is None:
        raise ValueError(f"there is no program {words[0]}, or it may not be executed")
    return words


def described_on_end(text: str | None) -> list[str] | None:
    """The command that a file names; None if it names none. Raises Misuse."""
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
    """Run the command, if there is one, and say so if it fails. `summary` is the file that holds the answer."""
    if words is None:
        return
    places = [str(folder.absolute()), str(summary.absolute())]
    more = {FOLDER: places[0], SUMMARY: places[1], EXIT_CODE: str(exit_code)}
    sys.stderr.flush()
    try:
        code = subprocess.run(  # noqa: S603 - to run it is what was asked for
            [*words, *places],
            stdin=subprocess.DEVNULL,
            stdout=_STANDARD_ERROR,
            env={**os.environ, **more},
            check=False,
        ).returncode
    except OSError as error:
        tell(f"--on-end {words[0]}: cannot be started ({error.strerror or error})", err=True)
        return
    if code:
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        tell(f"--on-end {words[0]}: {how}", err=True)
