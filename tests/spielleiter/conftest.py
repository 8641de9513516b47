"""What tests of the commands share."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from client.editions import DEFAULT_GAME_TYPE
from game.api import State
from protocol.messages import Memento
from server.editions import choose_editions
from server.replay import encode_replay


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A list of eight openings, of turns 0 and 1 in turn."""
    edition = choose_editions({}, {})[DEFAULT_GAME_TYPE]
    state: State = edition.game.new_state(random.Random(1))
    begun = state.play(next(iter(state.generate_legal_moves())))
    (tmp_path / "one.xml").write_bytes(encode_replay(edition.dialect, "room", [Memento(state), Memento(begun)]))
    (tmp_path / "book.txt").write_text("one.xml 0\none.xml 1\n" * 4)
    return tmp_path / "book.txt"
