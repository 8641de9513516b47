"""Single games between real programs, run by the referee."""

from __future__ import annotations

import dataclasses
import itertools
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import trio

from spielleiter.game.api import State
from spielleiter.match.plan import Entrant, MatchSetup, Opening, ProgramTimeouts
from spielleiter.match.records import GameRecord
from spielleiter.match.referee import play_game
from spielleiter.programs.this_platform import PLATFORM
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.protocol.messages import Memento
from spielleiter.server.editions import choose_editions
from spielleiter.server.replay import encode_replay
from tests.timeouts import HANG_TIMEOUT
from tests.viewer.replay_files import played

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


@cache
def late_position(game_type: str = DEFAULT_GAME_TYPE) -> State:
    """A position with seat 0 on turn and seat 1 ahead, from which both have about two moves or a few more."""
    games = (played(choose_editions({}, {})[game_type], seed) for seed in itertools.count())
    *states, _ = next(each for each in games if each[-1].points(1)[0] >= each[-1].points(0)[0] + 10)
    seats = [state.seat_on_turn for state in states]
    turns = [index for index, seat in enumerate(seats) if seat == 0 and seats[index:].count(1) >= 2]
    return states[turns[-2]]


def write_late_replay(folder: Path, game_type: str = DEFAULT_GAME_TYPE) -> Path:
    """Write a replay with that position alone to a file in `folder`."""
    path = folder / "late.xml"
    dialect = choose_editions({}, {})[game_type].dialect
    path.write_bytes(encode_replay(dialect, "room", [Memento(late_position(game_type))]))
    return path


async def play(folder: Path, first: str | Entrant, second: str | Entrant, game: int = 1, **changes: Any) -> GameRecord:
    """Play a game of a match of these programs; return its record, and assert that no process is left.

    In the server of the match it begins shortly before its end, unless the changes have other `openings`.
    """
    setup = dataclasses.replace(setup_of(first, second, **changes), run_id=str(folder))
    if setup.server is None and "openings" not in changes:
        opening = Opening("late", str(write_late_replay(folder, setup.game_type)))
        setup = dataclasses.replace(setup, openings=(opening,))
    with trio.fail_after(HANG_TIMEOUT):
        record = await play_game(setup, setup.plan()[game - 1], folder)
    assert PLATFORM.find_tagged(str(folder)) == ()
    return record


def shell(script: str) -> str:
    """Return the command of a shell script, which has the usual options as its arguments."""
    return f"sh -c {shlex.quote(script)} bot"
