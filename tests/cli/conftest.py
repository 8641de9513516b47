"""Fixtures for the tests of the commands."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest

import spielleiter.match.runner
from spielleiter.game.api import State
from spielleiter.match.plan import MatchSetup, PlannedGame
from spielleiter.match.records import GameRecord
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.protocol.messages import Memento
from spielleiter.server.editions import choose_editions
from spielleiter.server.replay import encode_replay
from tests.cli.matches import STRENGTH
from tests.match.sample_records import game


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A file with eight openings, alternately of turn 0 and of turn 1."""
    edition = choose_editions({}, {})[DEFAULT_GAME_TYPE]
    state: State = edition.game.new_state(random.Random(1))
    after_one_move = state.play(next(iter(state.generate_legal_moves())))
    (tmp_path / "one.xml").write_bytes(
        encode_replay(edition.dialect, "room", [Memento(state), Memento(after_one_move)])
    )
    (tmp_path / "book.txt").write_text("one.xml 0\none.xml 1\n" * 4)
    return tmp_path / "book.txt"


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> dict[str, GameRecord]:
    """Records by name: the result of the next game of that first program. In all other games the stronger one wins."""
    made_up: dict[str, GameRecord] = {}

    async def play_game(setup: MatchSetup, planned: PlannedGame, _folder: Path, *_more: object) -> GameRecord:
        first, second = setup.names
        record = made_up.pop(first, None) or game(planned.game, 0 if STRENGTH[first] > STRENGTH[second] else 1)
        return dataclasses.replace(record, game=planned.game, names=setup.names, pair=planned.pair, seats=planned.seats)

    monkeypatch.setattr(spielleiter.match.runner, "play_game", play_game)
    return made_up


@pytest.fixture
def games(monkeypatch: pytest.MonkeyPatch) -> dict[int, GameRecord]:
    """Records by number of the game, used instead of playing it; the first program wins all other games."""
    made_up: dict[int, GameRecord] = {}

    async def play_game(setup: MatchSetup, planned: PlannedGame, _folder: Path, *_more: object) -> GameRecord:
        record = made_up.get(planned.game) or game(planned.game, 0)
        return dataclasses.replace(record, names=setup.names, seats=planned.seats, pair=planned.pair)

    monkeypatch.setattr(spielleiter.match.runner, "play_game", play_game)
    return made_up
