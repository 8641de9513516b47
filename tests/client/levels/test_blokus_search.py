"""The search, with counted work."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from spielleiter.client.levels.blokus_evaluation import CELL, rate_moves
from spielleiter.client.levels.blokus_search import SearchSettings, Work, search
from spielleiter.game.blokus.rulesets import BLOKUS_2021
from spielleiter.game.blokus.state import BlokusState
from tests.client.levels.positions import positions

POSITIONS = list(positions(BLOKUS_2021, seed=5))
MIDDLE, LATE = POSITIONS[len(POSITIONS) // 2], POSITIONS[-6]
SMALL = SearchSettings(width=3, turns=4, budget=300)


def never() -> bool:
    return False


def after(calls: int) -> Callable[[], bool]:
    """Return a cut that comes with the call after `calls`."""
    counter = itertools.count(1)
    return lambda: next(counter) > calls


def best_three(state: BlokusState) -> list[float]:
    return sorted((rated.value for rated in rate_moves(state)), reverse=True)[:3]


def test_the_candidates_are_the_moves_that_are_rated_highest() -> None:
    found = search(MIDDLE, rate_moves(MIDDLE), SMALL, Work(never))
    by_move = {(each.turned, each.corner): each.value for each in rate_moves(MIDDLE)}
    assert [by_move[each.turned, each.corner] for each in found] == best_three(MIDDLE)
    assert [each.value for each in found] != best_three(MIDDLE)


def test_the_same_work_finds_the_same_values() -> None:
    first, second = (search(MIDDLE, rate_moves(MIDDLE), SMALL, Work(never)) for _ in range(2))
    assert first == second


@pytest.mark.slow
def test_no_extension_begins_after_the_budget_is_spent() -> None:
    """The work exceeds the budget by one extension at most: four turns of each line."""
    most = max(len(rate_moves(state)) for state in POSITIONS)
    worked = []
    for budget in (0, 2000, 100_000):
        work = Work(never)
        search(MIDDLE, rate_moves(MIDDLE), SearchSettings(3, 4, budget), work)
        assert work.rated_moves <= budget + 3 * 4 * most
        worked.append(work.rated_moves)
    assert worked == sorted(set(worked))
    assert worked[-1] < 100_000  # all lines have reached the end of the game


def test_the_value_of_a_line_that_ends_the_game_is_the_lead_gained_in_it() -> None:
    seat = LATE.seat_on_turn

    def lead(state: BlokusState) -> int:
        return state.points(seat)[0] - state.points(1 - seat)[0]

    found = search(LATE, rate_moves(LATE), SearchSettings(3, 1, 100_000), Work(never))
    for candidate in found:
        state = LATE.play(candidate.set_move(LATE))
        while state.outcome() is None:
            state = state.play(max(rate_moves(state), key=lambda each: each.value).set_move(state))
        assert candidate.value == pytest.approx(CELL * (lead(state) - lead(LATE)))


@pytest.mark.slow
def test_a_cut_leaves_the_values_of_the_last_complete_extension() -> None:
    rated = rate_moves(MIDDLE)
    assert [each.value for each in search(MIDDLE, rated, SMALL, Work(after(0)))] == best_three(MIDDLE)
    once = search(MIDDLE, rated, SearchSettings(3, 4, 0), Work(never))
    calls = 0

    def count() -> bool:
        nonlocal calls
        calls += 1
        return False

    assert search(MIDDLE, rated, SearchSettings(3, 4, 0), Work(count)) == once
    assert search(MIDDLE, rated, SearchSettings(3, 4, 100_000), Work(after(calls + 2))) == once
