"""The search, with scripted chance and cuts."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence

import pytest

from spielleiter.client.levels import blokus_search
from spielleiter.client.levels.blokus_evaluation import CELL, RatedMove, Sample, rate_moves, sample_moves
from spielleiter.client.levels.blokus_search import SearchSettings, _Candidate, search
from spielleiter.game.blokus.state import BLOKUS_2021, BlokusState
from tests.client.levels.positions import positions

POSITIONS = list(positions(BLOKUS_2021, seed=5))
MIDDLE, LATE = POSITIONS[len(POSITIONS) // 2], POSITIONS[-6]
SMALL = SearchSettings(width=4, rounds=(1, 2), turns=4, sample=8)
ALL_MOVES = 1000  # more than there are


def never() -> bool:
    return False


def after(calls: int) -> Callable[[], bool]:
    """Return a cut that comes with the call after `calls`."""
    counter = itertools.count(1)
    return lambda: next(counter) > calls


def found(
    state: BlokusState, settings: SearchSettings, is_cut: Callable[[], bool] = never, seed: int = 1
) -> list[RatedMove]:
    return search(state, rate_moves(state), settings, random.Random(seed), is_cut)


def moves(rated: Sequence[RatedMove]) -> set[tuple[object, int]]:
    return {(each.turned, each.corner) for each in rated}


def highest(state: BlokusState, count: int) -> list[RatedMove]:
    return sorted(rate_moves(state), key=lambda each: each.value, reverse=True)[:count]


def test_the_candidates_are_the_moves_that_are_rated_highest() -> None:
    once = found(MIDDLE, SearchSettings(width=4, rounds=(1,), turns=4, sample=8))
    assert moves(once) == moves(highest(MIDDLE, 4))
    assert sorted(each.value for each in once) != sorted(each.value for each in highest(MIDDLE, 4))


def test_the_better_half_stays_after_each_round() -> None:
    settings = [SearchSettings(5, rounds, 4, 8) for rounds in ((1,), (1, 1), (1, 1, 1), (1, 1, 1, 1))]
    results = [found(MIDDLE, each) for each in settings]
    assert [len(each) for each in results] == [5, 3, 2, 2]
    for before, result in itertools.pairwise(results[:3]):
        assert moves(result) == moves(before[: len(result)])
    for result in results:
        assert result == sorted(result, key=lambda each: each.value, reverse=True)


def test_the_same_generator_finds_the_same_values() -> None:
    assert found(MIDDLE, SMALL) == found(MIDDLE, SMALL)
    assert found(MIDDLE, SMALL) != found(MIDDLE, SMALL, seed=2)


def test_the_value_of_a_candidate_is_the_mean_of_its_lines() -> None:
    rng = random.Random(3)
    both, first, second = (_Candidate(MIDDLE, highest(MIDDLE, 1)[0]) for _ in range(3))
    for candidate in (first, second):
        candidate.add_line(SMALL, rng)
    rng.seed(3)
    for _ in range(2):
        both.add_line(SMALL, rng)
    assert first.value != second.value
    assert both.value == pytest.approx((first.value + second.value) / 2)


def test_the_value_of_a_line_that_ends_the_game_is_the_lead_gained_in_it() -> None:
    seat = LATE.seat_on_turn

    def lead(state: BlokusState) -> int:
        return state.points(seat)[0] - state.points(1 - seat)[0]

    for candidate in found(LATE, SearchSettings(3, (1,), 100, ALL_MOVES)):
        state = LATE.play(candidate.set_move(LATE))
        while state.outcome() is None:
            best = max(largest(state), key=lambda each: each.value)
            state = state.play(best.set_move(state))
        assert candidate.value == pytest.approx(CELL * (lead(state) - lead(LATE)))


def largest(state: BlokusState) -> list[RatedMove]:
    """Return the legal moves with the largest pieces."""
    rated = rate_moves(state)
    most = max(each.piece_value for each in rated)
    return [each for each in rated if each.piece_value == most]


def test_lines_without_chance_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[int] = []

    def counting(state: BlokusState, count: int, rng: random.Random) -> Sample:
        turns.append(state.turn)
        return sample_moves(state, count, rng)

    monkeypatch.setattr(blokus_search, "sample_moves", counting)
    once = found(LATE, SearchSettings(2, (1,), 100, ALL_MOVES))
    turns_of_once = len(turns)
    assert found(LATE, SearchSettings(2, (5,), 100, ALL_MOVES)) == once
    assert len(turns) == 2 * turns_of_once > 0


def test_a_cut_after_a_round_leaves_the_values_of_this_round(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = 0

    def counting(state: BlokusState, count: int, rng: random.Random) -> Sample:
        nonlocal samples
        samples += 1
        return sample_moves(state, count, rng)

    monkeypatch.setattr(blokus_search, "sample_moves", counting)
    first_round = found(MIDDLE, SearchSettings(SMALL.width, SMALL.rounds[:1], SMALL.turns, SMALL.sample))
    samples_of_first_round, samples = samples, 0
    assert found(MIDDLE, SMALL, lambda: samples == samples_of_first_round) == first_round
    assert samples == samples_of_first_round > 0


def test_a_cut_leaves_the_values_of_the_last_complete_round() -> None:
    first_round = SearchSettings(SMALL.width, SMALL.rounds[:1], SMALL.turns, SMALL.sample)
    assert found(MIDDLE, SMALL, after(0)) == highest(MIDDLE, 4)
    assert found(MIDDLE, SMALL, after(3)) == highest(MIDDLE, 4)
    assert found(MIDDLE, SMALL, after(4)) == found(MIDDLE, first_round)
    assert found(MIDDLE, SMALL, after(7)) == found(MIDDLE, first_round)
    assert found(MIDDLE, SMALL, after(8)) == found(MIDDLE, SMALL)
