"""A league for tests: a database with teams and versions, and the games that a test wants in it."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from sqlalchemy import Connection

from spielleiter.league.database import APPLICATION_ID, Database, open_database
from spielleiter.league.games import open_pair, record_game
from spielleiter.league.model import Pair, PlayedGame, Purpose, Version
from spielleiter.league.teams import add_teams
from spielleiter.league.versions import add_upload, finish_check

NOON = 1_800_000_000.0
P = ParamSpec("P")
T = TypeVar("T")


class League:
    """An open league whose functions are called as ``league(function, …)``."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.codes: dict[str, str] = {}
        self._contents = itertools.count()
        self._seeds = itertools.count()

    def __call__(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return self.database.write_now(function, *args, **options)

    def add_team(self, name: str) -> int:
        """Make a team, keep its code, and return its id."""
        (new,) = self(add_teams, [name], NOON)
        self.codes[name] = new.code
        return new.team.id

    def upload(self, team_id: int, *, now: float = NOON, content: bytes | None = None) -> Version:
        """Upload a file for a team; it waits for its check."""
        if content is None:
            content = f"package {next(self._contents)}".encode()
        return self(add_upload, team_id, "bot.zip", content, now)

    def accept(self, team_id: int, *, now: float = NOON) -> Version:
        """Upload a file for a team, which is accepted."""
        return self(finish_check, self.upload(team_id, now=now).id, None, now)

    def open_pair(self, first: Version, second: Version, purpose: Purpose = "league", **more: Any) -> Pair:
        """Open a pair of games."""
        return self(
            open_pair,
            first.id,
            second.id,
            purpose=purpose,
            stage="practice",
            seed=next(self._seeds),
            now=NOON,
            **more,
        )

    def play(self, pair: Pair, number: int, winner: int | None, **more: Any) -> int | None:
        """Record a game of a pair."""
        values: dict[str, Any] = {"is_counted": True, "verdict": "regular"} | more
        return self(record_game, PlayedGame(pair_id=pair.id, number=number, winner=winner, **values), NOON + number)

    def play_pair(self, first: Version, second: Version, *winners: int | None) -> Pair:
        """Open a pair and record its games."""
        pair = self.open_pair(first, second)
        for number, winner in enumerate(winners, 1):
            self.play(pair, number, winner)
        return pair


@contextlib.contextmanager
def league_in(folder: Path) -> Iterator[League]:
    """A new league in `folder`."""
    database = open_database(folder)
    try:
        yield League(database)
    finally:
        database.close()


_OLD: Final = Path(__file__).with_name("databases") / "0002.sql"
"""Three teams that have met, three challenges, a round robin that T1 has won, and then a knock-out that T2 has won.

A game of the last meeting does not count. Of the challenges, all won by who asked, the second and the third were
repeated, the third and its repetition made void.
"""


def write_old_league(path: Path, change: str = "") -> None:
    """Write the database of a league of an earlier version, changed by a script."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(_OLD.read_text(encoding="utf-8") + change)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
