"""The table of the levels of Blokus, and how they choose."""

from __future__ import annotations

import itertools
import random

import pytest

from spielleiter.client.errors import StrategyError
from spielleiter.client.levels.blokus_evaluation import rate_moves
from spielleiter.client.levels.blokus_levels import (
    BLOKUS_LEVELS,
    SETTINGS,
    BlokusSettings,
    choose_move,
    draw,
)
from spielleiter.client.levels.blokus_search import SearchSettings
from spielleiter.client.levels.budget import LONGEST_SEARCH, SearchBudget
from spielleiter.client.levels.level import Level
from spielleiter.game.blokus.state import BLOKUS_2021, BLOKUS_2027, BlokusGame
from tests.client.levels.budgets import endless
from tests.client.levels.positions import positions

POSITIONS = list(positions(BLOKUS_2021, seed=5))
MIDDLE = POSITIONS[len(POSITIONS) // 2]
SEARCH = BlokusSettings(search=SearchSettings(width=3, rounds=(1, 2), turns=4, sample=8))
NAMES = [f"level-{number}" for number in range(1, 9)]


def most_rated_moves(search: SearchSettings) -> int:
    """Return about how many moves a search rates in the middle of a game."""
    remaining, lines = search.width, 0
    for each in search.rounds:
        lines += remaining * each
        remaining = (remaining + 1) // 2
    return lines * (search.turns - 1) * search.sample


def test_higher_levels_have_less_noise_and_search_more() -> None:
    noise = [each.temperature for each in SETTINGS]
    assert noise == sorted(noise, reverse=True)
    work = [0 if each.search is None else most_rated_moves(each.search) for each in SETTINGS]
    assert work == sorted(work)
    assert len({(each.temperature, each.search) for each in SETTINGS}) == len(SETTINGS) == 8


@pytest.mark.slow
@pytest.mark.parametrize("game", [BLOKUS_2021, BLOKUS_2027], ids=lambda game: game.name)
@pytest.mark.parametrize("level", BLOKUS_LEVELS, ids=NAMES)
def test_every_level_plays_legal_moves_from_the_first_to_the_last(level: Level, game: BlokusGame) -> None:
    rng = random.Random(1)
    for state in positions(game, seed=11, step=6):
        assert state.check(level.choose(state, rng)) is None


@pytest.mark.slow
@pytest.mark.parametrize("settings", SETTINGS, ids=NAMES)
def test_the_same_seed_gives_the_same_moves(settings: BlokusSettings) -> None:
    """No search is cut, however slow the machine is."""
    states = POSITIONS[::12]
    one, two = random.Random(3), random.Random(3)
    for state in states:
        assert choose_move(settings, state, one, endless()) == choose_move(settings, state, two, endless())


def test_noise_makes_different_seeds_choose_different_moves() -> None:
    noisy = BlokusSettings(temperature=5.0)
    assert len({choose_move(noisy, MIDDLE, random.Random(seed)) for seed in range(20)}) > 5
    exact = BlokusSettings()
    best = max(rated.value for rated in rate_moves(MIDDLE))
    moves = {rated.set_move(MIDDLE) for rated in rate_moves(MIDDLE) if rated.value == best}
    assert {choose_move(exact, MIDDLE, random.Random(seed)) for seed in range(20)} <= moves


def test_a_move_worth_the_temperature_less_is_drawn_with_1_in_e_of_the_probability() -> None:
    rated = rate_moves(MIDDLE)[:2]
    better, worse = rated[0]._replace(value=7.0), rated[1]._replace(value=5.0)
    rng = random.Random(1)
    drawn = [draw([better, worse], 2.0, rng) for _ in range(10_000)]
    assert drawn.count(better) / drawn.count(worse) == pytest.approx(2.718, rel=0.05)


def test_a_search_is_cut_by_the_clock_and_the_best_move_so_far_is_played() -> None:
    times = itertools.count(step=LONGEST_SEARCH + 0.1)
    budget = SearchBudget(clock=lambda: next(times))
    cut = choose_move(SEARCH, MIDDLE, random.Random(1), budget)
    assert cut == choose_move(BlokusSettings(), MIDDLE, random.Random(1))
    assert budget.was_cut


def test_a_search_that_is_not_cut_may_choose_another_move_than_the_one_that_is_rated_highest() -> None:
    chosen = [
        [choose_move(settings, state, random.Random(1), endless()) for state in POSITIONS[8:60:4]]
        for settings in (BlokusSettings(), SEARCH)
    ]
    assert chosen[0] != chosen[1]


def test_a_request_without_a_possible_move_is_an_error() -> None:
    *_, last = positions(BLOKUS_2021, seed=5)
    while last.outcome() is None:
        last = last.play(next(last.generate_legal_moves()))
    with pytest.raises(StrategyError, match="but no move is possible"):
        choose_move(SEARCH, last, random.Random(1))
