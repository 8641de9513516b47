"""Setups of matches with real programs."""

from __future__ import annotations

from pathlib import Path

from spielleiter.match.plan import Entrant, MatchSetup, ProgramTimeouts
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from tests.timeouts import HANG_TIMEOUT


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
        timeouts=ProgramTimeouts(start=HANG_TIMEOUT, exit=HANG_TIMEOUT, game=HANG_TIMEOUT),
        server_options={"soft_timeout": HANG_TIMEOUT, "hard_timeout": HANG_TIMEOUT},
    )
