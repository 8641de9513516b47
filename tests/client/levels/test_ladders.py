"""The levels of each game, and how they are found by name."""

from __future__ import annotations

import random

import pytest

from spielleiter.client.choosers import CHOOSERS, make_chooser
from spielleiter.client.errors import StrategyError
from spielleiter.client.levels.ladders import LADDERS, LEVEL_NUMBERS, ladder_of, level_name, positions_with_level
from spielleiter.client.strategies import STRATEGIES
from spielleiter.game.api import Game
from spielleiter.game.blokus.state import BLOKUS_2021, BLOKUS_2027
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import EDITIONS

STATES = [edition.game.new_state(random.Random(1)) for edition in EDITIONS.values()]


@pytest.mark.parametrize("game", [BLOKUS_2021, BLOKUS_2027], ids=lambda game: game.name)
def test_blokus_has_eight_levels_in_both_seasons(game: Game) -> None:
    assert len(ladder_of(game.new_state(random.Random(1)))) == 8


def test_every_level_is_a_strategy_and_a_chooser() -> None:
    levels = [name for name in STRATEGIES if name.startswith("level-")]
    assert levels == [level_name(number) for number in LEVEL_NUMBERS]
    assert set(levels) <= set(CHOOSERS)
    assert all(STRATEGIES[name].is_level for name in levels)


@pytest.mark.parametrize("edition", EDITIONS.values(), ids=lambda edition: edition.name)
def test_a_strategy_plays_the_games_that_have_its_level(edition: Edition) -> None:
    game = edition.game
    count = len(ladder_of(game.new_state(random.Random(1))))
    playing = [number for number in LEVEL_NUMBERS if STRATEGIES[level_name(number)].plays(game)]
    assert playing == list(range(1, count + 1))


def test_a_level_that_a_game_does_not_have_is_an_error_that_names_those_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    position, levels = next(iter(LADDERS.items()))
    monkeypatch.setattr("spielleiter.client.levels.ladders.LADDERS", {position: levels[:4]})
    state = next(state for state in STATES if isinstance(state, position))
    with pytest.raises(StrategyError, match="there is no level-6 here: this game has level-1 to level-4"):
        make_chooser("level-6", seed=1)(state)
    assert position not in positions_with_level(6)


def test_a_game_without_levels_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spielleiter.client.levels.ladders.LADDERS", {})
    kind, edition = STRATEGIES["level-1"], next(iter(EDITIONS.values()))
    assert kind.refusal(edition.game, "chess") == "the strategy level-1 does not play chess: this game has no levels"
