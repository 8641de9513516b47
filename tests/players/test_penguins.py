"""The players of Penguins: a model that agrees with the rules, evaluation, search and choice."""

from __future__ import annotations

import math
import random
from itertools import count

import pytest
from msgspec.structs import replace

from spielleiter.game.penguins import PENGUINS_2023, PenguinsMove, PenguinsState
from spielleiter.game.penguins.board import NEIGHBORS
from spielleiter.players.alpha_beta import SearchLimits
from spielleiter.players.choosers import greedy_move, random_move
from spielleiter.players.penguins import (
    LEVELS,
    WIN,
    FishSearch,
    Side,
    beside,
    choose_move,
    fish_and_outlook,
    rate,
    sides,
    successors,
)
from spielleiter.players.search_budget import LONGEST_SEARCH, NoMoveError, SearchBudget
from spielleiter.players.strategies import make_chooser
from tests.game.penguins.test_penguins import position

START = PENGUINS_2023.new_state(random.Random(3))


def played(seed: int, plies: int) -> PenguinsState:
    """A position after random moves."""
    state, rng = PENGUINS_2023.new_state(random.Random(seed)), random.Random(seed)
    for _ in range(plies):
        state = state.play(rng.choice(list(state.generate_legal_moves())))
    return state


@pytest.mark.parametrize("start", [*map(played, range(3), [0] * 3), position("R14..... RRR..... ........ BBBB2341")])
def test_the_model_has_the_results_of_all_legal_moves(start: PenguinsState) -> None:
    state, rng = start, random.Random(1)
    while state.outcome() is None:
        seat, (own, _) = state.seat_on_turn, sides(state)
        assert not own.is_stuck
        after = [state.play(move) for move in state.generate_legal_moves()]
        assert successors(own) == [Side(each.penguins[seat], each.fish[seat], each.floes) for each in after]
        state = state.play((random_move if rng.random() < 0.5 else greedy_move)(state, rng))
    assert all(side.is_stuck for side in sides(state))


def test_the_cells_beside_a_cell_are_its_neighbours() -> None:
    assert [beside(1 << number) for number in range(64)] == list(NEIGHBORS)
    assert beside(NEIGHBORS[0] | 1) & NEIGHBORS[63] == 0


def test_a_rating_counts_fish_and_what_is_near() -> None:
    own, other = sides(position("R4....1B RRR...BB .......B"))
    assert rate(own, other) == -rate(other, own) > 0
    assert rate(own._replace(fish=3), other) - rate(own, other) == 30
    nearer, _ = sides(position("R1....4B RRR...BB .......B"))
    assert rate(own, other) - rate(nearer, other._replace(floes=nearer.floes)) == 6 * ((4 - 1) - (1 - 4))
    assert rate(Side(0, 5, (0, 0, 0, 0)), Side(0, 4, (0, 0, 0, 0))) == 10


def test_greedy_takes_the_most_fish() -> None:
    state = position("R14..... RRR..... ........ BBBB1111")
    assert greedy_move(state, random.Random(1)) == max(
        state.generate_legal_moves(), key=lambda move: fish_and_outlook(state, move)
    )
    assert state.play(greedy_move(state, random.Random(1))).fish == (4, 0)


def never() -> bool:
    return False


def value_by_definition(own: Side, other: Side, turn: int, depth: int) -> int:
    """Return the value of a position without any pruning."""
    other = other._replace(floes=own.floes)
    if own.is_stuck and other.is_stuck:
        lead = own.fish - other.fish
        return 0 if lead == 0 else WIN - turn if lead > 0 else turn - WIN
    if depth == 0:
        return rate(own, other)
    choices = [own] if own.is_stuck else successors(own)
    return max(-value_by_definition(other._replace(floes=mine.floes), mine, turn + 1, depth - 1) for mine in choices)


@pytest.mark.parametrize("plies", [0, 20, 40])
def test_pruning_does_not_change_the_value_of_the_best_choice(plies: int) -> None:
    state, depth = played(4, plies), 2
    own, other = sides(state)
    choices = successors(own)[:12]
    search = FishSearch(SearchLimits(nodes=10**9, depth=depth), never)
    best = search.best(choices, other, plies)
    assert search.depth >= 1
    values = {
        mine: -value_by_definition(other._replace(floes=mine.floes), mine, plies + 1, search.depth - 1)
        for mine in choices
    }
    assert values[best] == max(values.values())


def test_a_player_that_is_stuck_passes_in_the_search() -> None:
    own, other = sides(position("RRRR.... ........ BBBB1111"))
    assert not own.is_stuck  # it is the other player's turn already
    assert other.is_stuck
    search = FishSearch(SearchLimits(nodes=10**9, depth=9), never)
    value = search.value_of(other, own, 9, 9, -2 * WIN, 2 * WIN)
    assert value == value_by_definition(other, own, 9, 9) < WIN // -2


def test_a_position_without_a_place_for_a_penguin_is_lost() -> None:
    own, other = sides(position("RRR2.... BBBB2...", turn=0))
    search = FishSearch(SearchLimits(nodes=10**9, depth=2), never)
    assert search.value_of(own, other, 5, 2, -2 * WIN, 2 * WIN) == 5 - WIN


@pytest.mark.parametrize("nodes", [1, 30, 300, 3000])
def test_the_work_exceeds_the_budget_by_the_moves_in_one_position_at_most(nodes: int) -> None:
    search = FishSearch(SearchLimits(nodes), never)
    own, other = sides(START)
    choices = successors(own)
    assert search.best(choices, other, 0) in choices
    assert search.nodes < nodes + 128


@pytest.mark.parametrize("limits", [SearchLimits(1), SearchLimits(300)])
def test_the_same_seed_gives_the_same_moves(limits: SearchLimits) -> None:
    games: list[list[PenguinsMove]] = []
    for _ in range(2):
        state, rng = START, random.Random(5)
        moves: list[PenguinsMove] = []
        while len(moves) < 12:
            move = choose_move(limits, state, rng, SearchBudget(math.inf, clock=lambda: 0.0))
            moves.append(move)
            state = state.play(move)
        games.append(moves)
    assert games[0] == games[1]


@pytest.mark.parametrize("number", range(1, 1 + len(LEVELS)))
def test_a_level_answers_with_a_legal_move(number: int) -> None:
    for state in (START, played(1, 20)):
        assert state.check(make_chooser(f"level-{number}", seed=1)(state)) is None


def test_a_replay_may_claim_any_turn() -> None:
    late = replace(played(1, 20), turn=10**6)
    assert late.check(choose_move(SearchLimits(300), late, random.Random(1))) is None


def test_the_clock_ends_a_search_that_takes_too_long() -> None:
    seconds = count(0.0, LONGEST_SEARCH / 4)
    budget = SearchBudget(clock=lambda: next(seconds))
    move = choose_move(SearchLimits(nodes=10**9), START, random.Random(1), budget)
    assert START.check(move) is None
    assert budget.was_cut


def test_a_finished_game_has_no_move() -> None:
    with pytest.raises(NoMoveError, match="no move is possible"):
        make_chooser("level-1")(position("RRRR.... ........ BBBB"))


@pytest.mark.extended
@pytest.mark.parametrize("number", range(2, 1 + len(LEVELS)))
def test_a_level_wins_against_the_one_before_it(number: int) -> None:
    points = 0.0
    games = 12
    for game in range(games):
        state = PENGUINS_2023.new_state(random.Random(game // 2))
        stronger = game % 2
        choosers = [make_chooser(f"level-{number - (seat != stronger)}", seed=game) for seat in (0, 1)]
        while (outcome := state.outcome()) is None:
            move = choosers[state.seat_on_turn](state)
            assert isinstance(move, PenguinsMove)
            state = state.play(move)
        points += 0.5 if outcome.winner is None else outcome.winner == stronger
    assert points > games / 2
