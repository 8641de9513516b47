"""The levels of Hase und Igel: legal moves, the same for the same seed, and in time."""

from __future__ import annotations

import random
from itertools import count

import pytest

from spielleiter.client.choosers import make_chooser
from spielleiter.client.errors import StrategyError
from spielleiter.client.levels.budget import LONGEST_SEARCH, SearchBudget
from spielleiter.client.levels.hase_und_igel_levels import (
    HASE_UND_IGEL_LEVELS,
    LIMITS,
    choose_move,
)
from spielleiter.client.levels.hase_und_igel_search import Limits
from spielleiter.client.strategies import STRATEGIES
from spielleiter.game.hase_und_igel import GOAL_INDEX, HASE_UND_IGEL_2018, HaseUndIgelMove, HaseUndIgelState, Player
from tests.client.levels.budgets import endless

NUMBERS = range(1, 1 + len(HASE_UND_IGEL_LEVELS))
START = HASE_UND_IGEL_2018.new_state(random.Random(3))


def moves_of_a_game(limits: Limits, seed: int) -> list[HaseUndIgelMove]:
    """Return the moves of a game of a level against itself, in which no search is cut."""
    state, rng, moves = START, random.Random(seed), []
    while state.outcome() is None:
        moves.append(choose_move(limits, state, rng, endless()))
        state = state.play(moves[-1])
    return moves


def test_higher_levels_look_at_more_positions() -> None:
    nodes = [limits.nodes for limits in LIMITS]
    assert nodes == sorted(set(nodes))


@pytest.mark.slow
@pytest.mark.parametrize("limits", LIMITS, ids=lambda limits: f"{limits.nodes} nodes")
def test_the_same_seed_gives_the_same_game(limits: Limits) -> None:
    assert moves_of_a_game(limits, 5) == moves_of_a_game(limits, 5)


@pytest.mark.slow
def test_the_seed_decides_between_equally_good_moves() -> None:
    assert len({tuple(moves_of_a_game(LIMITS[0], seed)) for seed in range(12)}) > 1


def test_there_are_levels_for_this_game_only_up_to_its_number() -> None:
    playing = [name for name, kind in STRATEGIES.items() if kind.is_level and kind.plays(HASE_UND_IGEL_2018)]
    assert playing == [f"level-{number}" for number in NUMBERS]
    missing = f"level-{1 + len(NUMBERS)}"
    with pytest.raises(StrategyError, match=f"no {missing} here: this game has level-1 to level-{len(NUMBERS)}"):
        make_chooser(missing)(START)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_level_answers_with_a_legal_move(number: int) -> None:
    rng, state = random.Random(number), START
    choose = make_chooser(f"level-{number}", seed=1)
    for _ in range(6):
        assert state.check(choose(state)) is None
        state = state.play(rng.choice(list(state.generate_legal_moves())))


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_a_level_answers_with_legal_moves_in_random_games(number: int) -> None:
    choose, rng = make_chooser(f"level-{number}", seed=1), random.Random(number)
    for _ in range(3):
        state = HASE_UND_IGEL_2018.new_state(rng)
        while state.outcome() is None:
            assert state.check(choose(state)) is None
            state = state.play(rng.choice(list(state.generate_legal_moves())))


@pytest.mark.parametrize("number", NUMBERS)
def test_every_level_goes_to_the_goal_if_that_wins(number: int) -> None:
    state = HaseUndIgelState(START.board, (Player(30), Player(62, 9, 0)), turn=31)
    after = state.play(make_chooser(f"level-{number}", seed=1)(state))
    assert after.players[1].index == GOAL_INDEX


def test_the_clock_ends_a_search_that_takes_too_long() -> None:
    seconds = count(0.0, LONGEST_SEARCH / 4)
    state = START
    budget = SearchBudget(clock=lambda: next(seconds))
    move = choose_move(Limits(nodes=10**9), state, random.Random(1), budget)
    assert state.check(move) is None
    assert budget.was_cut
    assert next(seconds) == pytest.approx(1.25 * LONGEST_SEARCH)  # it was read at the start and then until the limit


def test_a_finished_game_has_no_move() -> None:
    over = HaseUndIgelState(START.board, (Player(GOAL_INDEX), Player()))
    with pytest.raises(StrategyError, match="no move is possible"):
        make_chooser("level-1")(over)
