"""A tournament whose games are made up: its file, and what is played."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from match.plan import PlannedGame
from match.records import GameRecord, Verdict
from match.setup import MatchSetup
from tests.match.games import fault, game

STRENGTH = {"a|b": 3, "b": 2, "c": 1}
FILE = "games = 4\n" + "".join(f'[[program]]\nname = "{name}"\ncommand = "builtin:first"\n' for name in STRENGTH)


async def play_where_b_does_not_start(
    setup: MatchSetup, planned: PlannedGame, _folder: Path, *_more: object
) -> GameRecord:
    """In place of `match.runner.play_game`."""
    record = game(planned.game, 0)
    if "b" in setup.names:
        record = fault(planned.game, setup.names.index("b"), Verdict.NO_START, is_counted=False)
    return dataclasses.replace(record, names=setup.names, pair=planned.pair, seats=planned.seats)
