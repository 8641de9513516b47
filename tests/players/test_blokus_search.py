"""The search of Blokus that takes the time that it is given: its positions, its lines, its tree, its time."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from functools import partial

import pytest

from spielleiter.game.blokus.moves import SetMove, generate_placements
from spielleiter.game.blokus.pieces import SIZES
from spielleiter.game.blokus.state import BLOKUS_2021, BLOKUS_2027, BlokusGame, BlokusState
from spielleiter.players.blokus_levels import CELL, RatedMove, position_value, rate_moves
from spielleiter.players.blokus_search import (
    RatedPlacement,
    SearchPosition,
    TreeSearch,
    TreeSettings,
    choose_move,
    play_line,
    rate_placements,
    sample_placements,
)
from spielleiter.players.search_budget import NoMoveError, SearchBudget

GAMES = (
    BLOKUS_2021,
    BLOKUS_2027,
    BLOKUS_2021.with_options({"gameEnd": "noMovesLeft"}),
    BLOKUS_2027.with_options({"gameEnd": "colorFinished"}),
)
MANY = 10_000  # more moves than there are
SETTINGS = TreeSettings()


def positions(game: BlokusGame, seed: int) -> Iterator[BlokusState]:
    """Yield the positions of a game in which each colour plays one of its largest pieces, the final one included."""
    rng = random.Random(seed)
    state = game.new_state(rng)
    while state.outcome() is None:
        yield state
        moves = list(state.generate_legal_moves())
        most = max(SIZES[move.shape] for move in moves)
        state = state.play(rng.choice([move for move in moves if SIZES[move.shape] == most]))
    yield state


def set_move(state: BlokusState, rated: RatedPlacement) -> SetMove:
    value, turned, corner, _ = rated
    return RatedMove(value, turned, corner).set_move(state)


def all_rated(state: BlokusState) -> list[RatedPlacement]:
    position, color = SearchPosition(state), state.turn % 4
    found = generate_placements(position.free[color], position.attach[color], position.shapes)
    return rate_placements(position, list(found))


def nearly_finished(game: BlokusGame) -> BlokusState:
    """Return a position in which BLUE and GREEN have one piece left, RED and YELLOW two."""
    state = next(state for state in positions(game, seed=1) if state.turn == 40)
    blue, yellow, red, green = ((1 << shape) for shape in (0, 1, 2, 0))
    return BlokusState(
        state.rules, state.start_shape, 40, state.cells, (blue, yellow | 1, red | 2, green), last_move=state.last_move
    )


@pytest.mark.parametrize("game", GAMES, ids=lambda game: f"{game.name} {game.rules.ends_with_finished_color}")
def test_a_position_of_the_search_follows_the_rules(game: BlokusGame) -> None:
    states = [*itertools.pairwise(positions(game, seed=1)), *itertools.pairwise(positions(game, seed=2))]
    start, rng = nearly_finished(game), random.Random(1)
    while start.outcome() is None:
        after = start.play(rng.choice(list(start.generate_legal_moves())))
        states.append((start, after))
        start = after
    for before, after in states:
        position = SearchPosition(before)
        untouched = position.copy()
        rated = next(each for each in all_rated(before) if set_move(before, each) == after.last_move)
        position.place(rated[1].shape, rated[3])
        position.pass_to_next()
        expected = SearchPosition(after)
        assert position.is_over() == (after.outcome() is not None)
        assert (position.valid_mask, position.remaining) == (after.valid_mask, list(after.remaining_masks))
        assert position.lead == after.points(0)[0] - after.points(1)[0]
        assert (position.free, position.attach) == (expected.free, expected.attach)
        assert position.turn == after.turn or not after.valid_mask  # nobody's turn, once all colours have left
        assert untouched.lead == before.points(0)[0] - before.points(1)[0]


@pytest.mark.parametrize("game", GAMES[:2], ids=lambda game: game.name)
def test_the_value_of_a_position_is_that_of_the_levels_and_of_its_lead(game: BlokusGame) -> None:
    for state in positions(game, seed=3):
        lead = state.points(0)[0] - state.points(1)[0]
        over = state.outcome() is not None
        assert SearchPosition(state).value() == pytest.approx(CELL * lead + (0 if over else position_value(state, 0)))


@pytest.mark.parametrize("game", GAMES[:2], ids=lambda game: game.name)
def test_placements_are_rated_about_as_the_levels_do(game: BlokusGame) -> None:
    *states, _ = positions(game, seed=4)
    losses = []
    for state in states[::3]:
        exact = {rated.set_move(state): rated.value for rated in rate_moves(state)}
        about = {set_move(state, rated): rated[0] for rated in all_rated(state)}
        assert about.keys() == exact.keys()
        best = max(about, key=lambda move: about[move])
        losses.append(max(exact.values()) - exact[best])
    assert sum(losses) / len(losses) < 0.5
    opening = states[0]  # nothing lies between the cells of an empty board
    exact = {rated.set_move(opening): rated.value for rated in rate_moves(opening)}
    assert {set_move(opening, rated): rated[0] for rated in all_rated(opening)} == pytest.approx(exact)


def test_a_sample_has_legal_moves_with_the_largest_pieces_only() -> None:
    *states, last = positions(BLOKUS_2027, seed=5)
    rng, sizes = random.Random(1), []
    for state in states:
        most = max(SIZES[move.shape] for move in state.generate_legal_moves())
        largest = {move for move in state.generate_legal_moves() if SIZES[move.shape] == most}
        position = SearchPosition(state)
        some = rate_placements(position, sample_placements(position, 20, rng))
        assert {set_move(state, each) for each in some} <= largest
        assert 1 <= len(some) <= 28
        sizes.append(len(some) < len(largest))
        everything = rate_placements(position, sample_placements(position, MANY, rng))
        assert {set_move(state, each) for each in everything} == largest
    assert {True, False} == set(sizes)
    assert sample_placements(SearchPosition(last), 20, rng) == []


def test_every_move_with_the_largest_pieces_can_be_in_a_sample() -> None:
    state = list(positions(BLOKUS_2021, seed=4))[12]
    position, rng, seen = SearchPosition(state), random.Random(2), set()
    everything = len(rate_placements(position, sample_placements(position, MANY, rng)))
    for _ in range(400):
        seen |= {each[:3] for each in rate_placements(position, sample_placements(position, 20, rng))}
    assert len(seen) == everything > 28


def test_a_line_ends_at_its_last_turn_or_with_the_game() -> None:
    state = list(positions(BLOKUS_2021, seed=6))[20]
    position = SearchPosition(state)
    value = play_line(position, state.turn + 8, 16, random.Random(1))
    assert state.turn + 8 <= position.turn
    assert value == position.value()
    play_line(position, 1000, 16, random.Random(1))
    assert position.is_over()
    assert play_line(position, 1000, 16, random.Random(1)) == CELL * position.lead


def test_a_line_ends_when_a_colour_has_finished_if_that_ends_the_game() -> None:
    ends = {}
    for game in GAMES[1], GAMES[3]:
        position = SearchPosition(nearly_finished(game))
        play_line(position, 1000, 16, random.Random(1))
        ends[game] = position.turn
    assert ends[GAMES[3]] < ends[GAMES[1]]


def best_lead(state: BlokusState) -> int:
    """Return the lead of seat 0 at the end if both sides play as well as possible, by trying everything."""
    if state.outcome() is not None:
        return state.points(0)[0] - state.points(1)[0]
    leads = [best_lead(state.play(move)) for move in state.generate_legal_moves()]
    return max(leads) if state.seat_on_turn == 0 else min(leads)


@pytest.mark.parametrize("game", GAMES[:2], ids=lambda game: game.name)
def test_the_best_move_before_the_end_is_found(game: BlokusGame) -> None:
    differences = 0
    for seed in (2, 3, 4):
        *states, _ = positions(game, seed)
        state = states[-3]
        leads = {move: best_lead(state.play(move)) for move in state.generate_legal_moves()}
        best = (max if state.seat_on_turn == 0 else min)(leads.values())
        search = TreeSearch(state, SETTINGS, random.Random(1))
        for _ in range(300):
            search.add_line()
        assert leads[set_move(state, search.best())] == best
        differences += len(set(leads.values())) > 1
    assert differences


def test_a_search_is_decided_when_no_other_move_can_catch_up_or_time_is_up() -> None:
    state = list(positions(BLOKUS_2027, seed=7))[8]
    search = TreeSearch(state, SETTINGS, random.Random(1))
    for _ in range(100):
        search.add_line()
    assert not search.is_decided(0.01)
    assert search.is_decided(0.999)
    assert search.is_decided(1.0)


class Clock:
    """Time that passes when somebody looks at it."""

    def __init__(self, step: float) -> None:
        self.now = 0.0
        self._step = step

    def __call__(self) -> float:
        self.now += self._step
        return self.now


def test_a_search_takes_the_processor_time_that_it_is_given() -> None:
    state = list(positions(BLOKUS_2027, seed=7))[8]
    looks = []
    for seconds in (0.5, 1.5):
        clock = Clock(0.1)
        budget = SearchBudget(math.inf, clock, wall_clock=lambda: 0.0)
        budget.seconds = seconds
        assert state.check(choose_move(SETTINGS, state, random.Random(1), budget)) is None
        assert not budget.was_cut
        looks.append(clock.now)
    assert 0.2 < looks[0] <= 0.5 + 0.15
    assert looks[0] < looks[1] <= 1.5 + 0.15


def test_a_search_ends_before_the_limit_of_the_game() -> None:
    state = list(positions(BLOKUS_2027, seed=7))[8]
    wall = Clock(0.1)
    budget = SearchBudget(0.25, clock=lambda: 0.0, wall_clock=wall)
    assert state.check(choose_move(SETTINGS, state, random.Random(1), budget)) is None
    assert wall.now < 0.5
    assert budget.was_cut


def test_the_only_move_is_played_at_once() -> None:
    only = next(state for state in positions(BLOKUS_2021, seed=8) if state.count_legal_moves() == 1)
    clock = Clock(0.001)
    choose_move(SETTINGS, only, random.Random(1), SearchBudget(math.inf, clock, lambda: 0.0))
    assert clock.now < 0.01


def test_the_same_seed_and_the_same_time_give_the_same_move() -> None:
    state = list(positions(BLOKUS_2021, seed=9))[14]
    choose = partial(choose_move, SETTINGS, state)
    assert len({choose(random.Random(3), SearchBudget(math.inf, Clock(0.1), lambda: 0.0)) for _ in range(2)}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES[:2], ids=lambda game: game.name)
def test_all_moves_of_a_game_are_legal(game: BlokusGame) -> None:
    state, rng = game.new_state(random.Random(1)), random.Random(1)
    while state.outcome() is None:
        state = state.play(choose_move(SETTINGS, state, rng, SearchBudget(math.inf, Clock(0.5), lambda: 0.0)))


def test_a_request_without_a_possible_move_is_an_error() -> None:
    *_, last = positions(BLOKUS_2021, seed=5)
    with pytest.raises(NoMoveError, match="but no move is possible"):
        choose_move(SETTINGS, last, random.Random(1))
