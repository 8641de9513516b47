"""A league for tests: a database with teams and versions, and the games that a test wants in it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from spielleiter.league.database import Database, open_database
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


@contextmanager
def league_in(folder: Path) -> Iterator[League]:
    """A new league in `folder`."""
    database = open_database(folder)
    try:
        yield League(database)
    finally:
        database.close()
