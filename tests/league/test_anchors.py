"""The anchors that a new league gets."""

from __future__ import annotations

import pytest

from spielleiter.league.anchors import LOWEST_RATING, default_anchors
from spielleiter.players.choosers import ladder_of
from spielleiter.players.strategies import strategy_called
from spielleiter.server.editions import EDITIONS


@pytest.mark.parametrize("name", EDITIONS)
def test_levels_with_a_fixed_budget_are_anchors_as_far_as_a_game_has_them(name: str) -> None:
    anchors = default_anchors(EDITIONS[name])
    fixed = [level for level in ladder_of(EDITIONS[name].game) if not level.takes_time]
    assert len({anchor.builtin for anchor in anchors}) == len(anchors) == min(3, len(fixed))
    ratings = [anchor.rating for anchor in anchors]
    assert ratings == sorted(ratings)
    assert ratings[:1] == [LOWEST_RATING] * bool(fixed)
    for anchor in anchors:
        kind = strategy_called(anchor.builtin.removeprefix("builtin:"))
        assert kind is not None
        assert kind.plays(EDITIONS[name].game)
        assert not kind.takes_time
