"""The anchors that a new league gets."""

from __future__ import annotations

import pytest

from spielleiter.league.anchors import LOWEST_RATING, default_anchors
from spielleiter.players.strategies import strategy_called
from spielleiter.server.editions import EDITIONS


@pytest.mark.parametrize("name", EDITIONS)
def test_each_game_has_levels_with_a_fixed_budget_as_anchors(name: str) -> None:
    anchors = default_anchors(EDITIONS[name])
    assert len({anchor.builtin for anchor in anchors}) == len(anchors) == 3
    ratings = [anchor.rating for anchor in anchors]
    assert ratings == sorted(ratings)
    assert ratings[0] == LOWEST_RATING
    for anchor in anchors:
        kind = strategy_called(anchor.builtin.removeprefix("builtin:"))
        assert kind is not None
        assert kind.plays(EDITIONS[name].game)
        assert not kind.takes_time
