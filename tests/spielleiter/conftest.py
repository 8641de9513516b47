"""What tests of the commands share."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest

import match.runner
from client.editions import DEFAULT_GAME_TYPE
from game.api import State
from match.plan import PlannedGame
from match.records import GameRecord
from match.setup import MatchSetup
from protocol.messages import Memento
from server.editions import choose_editions
from server.replay import encode_replay
from tests.match.games import game
from tests.spielleiter.tournaments import STRENGTH


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A list of eight openings, of turns 0 and 1 in turn."""
    edition = choose_editions({}, {})[DEFAULT_GAME_TYPE]
    state: State = edition.game.new_state(random.Random(1))
    begun = state.play(next(iter(state.generate_legal_moves())))
    (tmp_path / "one.xml").write_bytes(encode_replay(edition.dialect, "room", [Memento(state), Memento(begun)]))
    (tmp_path / "book.txt").write_text("one.xml 0\none.xml 1\n" * 4)
    return tmp_path / "book.txt"


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> dict[str, GameRecord]:
    """The stronger program wins; but a program's first game is what stands here under its name."""
    made_up: dict[str, GameRecord] = {}

    async def play_game(setup: MatchSetup, planned: PlannedGame, _folder: Path, *_more: object) -> GameRecord:
        first, second = setup.names
        record = made_up.pop(first, None) or game(planned.game, 0 if STRENGTH[first] > STRENGTH[second] else 1)
        return dataclasses.replace(record, game=planned.game, names=setup.names, pair=planned.pair, seats=planned.seats)

    monkeypatch.setattr(match.runner, "play_game", play_game)
    return made_up
