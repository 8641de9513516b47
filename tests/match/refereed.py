"""Single games between real programs, run by the referee."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import Any

import trio

from spielleiter.match.plan import Entrant, MatchSetup, ProgramTimeouts
from spielleiter.match.records import GameRecord
from spielleiter.match.referee import play_game
from spielleiter.programs.this_platform import PLATFORM
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from tests.timeouts import HANG_TIMEOUT

NO_LIMITS = {"soft_timeout": HANG_TIMEOUT, "hard_timeout": HANG_TIMEOUT}
NO_TIMEOUTS = ProgramTimeouts(start=HANG_TIMEOUT, exit=HANG_TIMEOUT, game=HANG_TIMEOUT)

IDLE = "sleep 500"
"""A program that does nothing."""


def setup_of(first: str | Entrant, second: str | Entrant, **changes: Any) -> MatchSetup:
    """Return the setup of a match of these programs, or commands, without time limits; `changes` are other fields."""
    setup = MatchSetup(
        entrants=(
            Entrant("new", first) if isinstance(first, str) else first,
            Entrant("old", second) if isinstance(second, str) else second,
        ),
        game_type=DEFAULT_GAME_TYPE,
        games=2,
        seed=1,
        run_id="",
        server_options=NO_LIMITS,
        timeouts=NO_TIMEOUTS,
    )
    return dataclasses.replace(setup, **changes)


async def play(folder: Path, first: str | Entrant, second: str | Entrant, game: int = 1, **changes: Any) -> GameRecord:
    """Play a game of a match of these programs; return its record, and assert that no process is left."""
    setup = dataclasses.replace(setup_of(first, second, **changes), run_id=str(folder))
    with trio.fail_after(HANG_TIMEOUT):
        record = await play_game(setup, setup.plan()[game - 1], folder)
    assert PLATFORM.find_tagged(str(folder)) == ()
    return record


def shell(script: str) -> str:
    """Return the command of a shell script, which has the usual options as its arguments."""
    return f"sh -c {shlex.quote(script)} bot"
