"""Setups of matches that are played for real."""

from __future__ import annotations

from pathlib import Path

from client.editions import DEFAULT_GAME_TYPE
from match.setup import Entrant, MatchSetup, Patience


def lenient_setup(folder: Path, first: Entrant, second: Entrant, game_type: str = DEFAULT_GAME_TYPE) -> MatchSetup:
    """A pair of games with limits that no program reaches unless it hangs; `folder` is where they are played."""
    return MatchSetup(
        entrants=(first, second),
        game_type=game_type,
        games=2,
        seed=1,
        run_id=str(folder),
        patience=Patience(start=60, exit=30, game=120),
        server_options={"soft_timeout": 60.0, "hard_timeout": 60.0},
    )
