"""Matches for the tests of `spielleiter match`: their command line, and where they keep what was asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from spielleiter.match.records import load_setup
from tests.cli.background import run
from tests.timeouts import HANG_TIMEOUT

MATCH: Final = ("match", "--player1", "builtin:greedy", "--player2", "builtin:random")
ENDLESS: Final = ("--no-timeout", "--start-timeout", str(HANG_TIMEOUT), "--exit-timeout", str(HANG_TIMEOUT))
"""For games with real processes: no program is too slow, however busy this machine is."""


def play(folder: Path, *options: str, games: int = 4) -> Any:
    """Run a match in the folder `out` of this one."""
    return run(*MATCH, "-n", str(games), "--out", str(folder / "out"), *options)


def setup_of(folder: Path) -> dict[str, Any]:
    """The setup that `play` has saved."""
    return load_setup(folder / "out")
