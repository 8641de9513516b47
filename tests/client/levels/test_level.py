"""The record of one level."""

from __future__ import annotations

import random

import pytest

from spielleiter.client.levels.ladders import LADDERS, ladder_of
from spielleiter.server.editions import EDITIONS


@pytest.mark.slow
def test_every_level_is_described_and_chooses_a_legal_move_for_its_game() -> None:
    for edition in EDITIONS.values():
        state = edition.game.new_state(random.Random(1))
        for level in ladder_of(state):
            assert state.check(level.choose(state, random.Random(1))) is None


def test_the_descriptions_of_a_ladder_differ() -> None:
    for levels in LADDERS.values():
        descriptions = [level.description for level in levels]
        assert all(descriptions)
        assert len(set(descriptions)) == len(levels)
