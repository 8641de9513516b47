"""A tournament with made-up games: its file, and a replacement for playing a game."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from spielleiter.match.plan import MatchSetup, PlannedGame
from spielleiter.match.records import GameRecord
from tests.match.sample_records import absence, game

STRENGTH = {"a|b": 3, "b": 2, "c": 1}
FILE = "games = 4\n" + "".join(f'[[program]]\nname = "{name}"\ncommand = "builtin:first"\n' for name in STRENGTH)


async def play_where_b_does_not_start(
    setup: MatchSetup, planned: PlannedGame, _folder: Path, *_more: object
) -> GameRecord:
    """A replacement for `spielleiter.match.runner.play_game`."""
    record = game(planned.game, 0)
    if "b" in setup.names:
        record = absence(planned.game, setup.names.index("b"))
    return dataclasses.replace(record, names=setup.names, pair=planned.pair, seats=planned.seats)
