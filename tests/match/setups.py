"""Setups of matches with real programs."""

from __future__ import annotations

from pathlib import Path

from spielleiter.match.setup import Entrant, MatchSetup, ProgramTimeouts
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from tests.patience import PATIENCE


def lenient_setup(folder: Path, first: Entrant, second: Entrant, game_type: str = DEFAULT_GAME_TYPE) -> MatchSetup:
    """Return the setup of a pair of games with limits that no program reaches unless it hangs.

    `folder` is the folder of the match.
    """
    return MatchSetup(
        entrants=(first, second),
        game_type=game_type,
        games=2,
        seed=1,
        run_id=str(folder),
        timeouts=ProgramTimeouts(start=PATIENCE, exit=PATIENCE, game=PATIENCE),
        server_options={"soft_timeout": PATIENCE, "hard_timeout": PATIENCE},
    )
