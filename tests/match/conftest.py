"""Fixtures for tests of matches."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from spielleiter.game.api import Outcome, State
from spielleiter.game.blokus.state import BlokusState
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.protocol.messages import Memento
from spielleiter.server.editions import choose_editions
from spielleiter.server.replay import encode_replay
from tests.match.players import listening_players
from tests.match.refereed import write_late_replay


@pytest.fixture(scope="module")
def players() -> Iterator[None]:
    """Provide the players of lightweight programs (tests/match/light.py)."""
    with listening_players():
        yield


@pytest.fixture(scope="session")
def late_book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An opening book whose only position is a few moves before the end of a game."""
    return write_late_replay(tmp_path_factory.mktemp("book"))


@pytest.fixture
def short_games(monkeypatch: pytest.MonkeyPatch) -> None:
    """End games of Blokus after twelve turns, where the rest of them would show nothing more."""
    monkeypatch.setattr(BlokusState, "outcome", lambda self: Outcome(0, "points") if self.turn >= 12 else None)


@pytest.fixture
def replay() -> bytes:
    """The replay of a game with one move."""
    edition = choose_editions({}, {})[DEFAULT_GAME_TYPE]
    first: State = edition.game.new_state(random.Random(1))
    second = first.play(next(iter(first.generate_legal_moves())))
    return encode_replay(edition.dialect, "room", [Memento(first), Memento(second)])
