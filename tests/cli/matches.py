"""Matches and tournaments of the tests: command lines, files, and a replacement for playing a game."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, Final

from spielleiter.match.plan import MatchSetup, PlannedGame
from spielleiter.match.records import GameRecord, load_setup
from tests.cli.background import run
from tests.match.sample_records import absence, game
from tests.timeouts import HANG_TIMEOUT

MATCH: Final = ("match", "--player1", "builtin:greedy", "--player2", "builtin:random")
ENDLESS: Final = ("--no-timeout", "--start-timeout", str(HANG_TIMEOUT), "--exit-timeout", str(HANG_TIMEOUT))
"""For games with real processes: no program is too slow, however busy this machine is."""

STRENGTH = {"a|b": 3, "b": 2, "c": 1}
FILE = "games = 4\n" + "".join(f'[[program]]\nname = "{name}"\ncommand = "builtin:first"\n' for name in STRENGTH)


def play(folder: Path, *options: str, games: int = 4) -> Any:
    """Run a match in the folder `out` of this one."""
    return run(*MATCH, "-n", str(games), "--out", str(folder / "out"), *options)


def setup_of(folder: Path) -> dict[str, Any]:
    """The setup that `play` has saved."""
    return load_setup(folder / "out")


async def play_where_b_does_not_start(
    setup: MatchSetup, planned: PlannedGame, _folder: Path, *_more: object
) -> GameRecord:
    """A replacement for `spielleiter.match.runner.play_game`."""
    record = game(planned.game, 0)
    if "b" in setup.names:
        record = absence(planned.game, setup.names.index("b"))
    return dataclasses.replace(record, names=setup.names, pair=planned.pair, seats=planned.seats)
