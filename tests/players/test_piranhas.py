"""The players of Piranhas: a model that agrees with the rules, evaluation, search and choice."""

from __future__ import annotations

import math
import random
from itertools import count

import pytest

from spielleiter.game.piranhas import PIRANHAS_2026, Cell, Fish, PiranhasState
from spielleiter.players.alpha_beta import SearchLimits
from spielleiter.players.choosers import greedy_move, random_move
from spielleiter.players.piranhas import (
    LEVELS,
    WIN,
    Choice,
    Shoal,
    SwarmSearch,
    choose_move,
    rate,
    successors,
    swarm_after,
)
from spielleiter.players.search_budget import LONGEST_SEARCH, NoMoveError, SearchBudget
from spielleiter.players.strategies import make_chooser

START = PIRANHAS_2026.new_state(random.Random(3))


def played(seed: int, plies: int) -> PiranhasState:
    """A position after random moves."""
    state, rng = PIRANHAS_2026.new_state(random.Random(seed)), random.Random(seed)
    for _ in range(plies):
        state = state.play(rng.choice(list(state.generate_legal_moves())))
    return state


def sides(state: PiranhasState) -> tuple[Fish, Fish]:
    return state.fish[state.seat_on_turn], state.fish[1 - state.seat_on_turn]


def cells(*places: tuple[int, int]) -> int:
    return sum(1 << Cell(x, y).number for x, y in places)


@pytest.mark.parametrize("seed", range(3))
def test_the_model_has_the_results_of_all_legal_moves(seed: int) -> None:
    state, rng = PIRANHAS_2026.new_state(random.Random(seed)), random.Random(seed)
    while state.outcome() is None:
        seat = state.seat_on_turn
        after = [state.play(move).fish for move in state.generate_legal_moves()]
        assert successors(*sides(state), state.squids) == [(fish[seat], fish[1 - seat]) for fish in after]
        state = state.play((random_move if rng.random() < 0.5 else greedy_move)(state, rng))


def test_a_rating_knows_the_swarms() -> None:
    rating = rate((cells((0, 0), (5, 5)), cells((1, 1)), 0))
    assert (rating.swarm, rating.is_united) == (3, False)
    assert rate((cells((0, 0)), cells((1, 1)), 0)).is_united
    assert rate((0, 0, 0)).swarm == -1
    more, middle = rate((cells((4, 4)), 0, 0)), rate((cells((0, 4)), 0, 0))
    assert more.value > middle.value


def test_greedy_prefers_the_larger_lead() -> None:
    rated = [swarm_after(START, move) for move in START.generate_legal_moves()]
    assert swarm_after(START, greedy_move(START, random.Random(1))) == max(rated)  # type: ignore[arg-type]


def never() -> bool:
    return False


def value_by_definition(own: Shoal, other: Shoal, squids: int, turn: int, depth: int) -> int:
    """Return the value of a position without any pruning."""
    first, second = rate(own), rate(other)
    if turn == 60 or (turn % 2 == 0 and (first.is_united or second.is_united)):
        lead = first.swarm - second.swarm or first.is_united - second.is_united
        return 0 if lead == 0 else WIN - turn if lead > 0 else turn - WIN
    if depth == 0:
        return first.value - second.value
    choices = successors(own, other, squids)
    if not choices:
        return turn - WIN
    return max(-value_by_definition(theirs, mine, squids, turn + 1, depth - 1) for mine, theirs in choices)


@pytest.mark.parametrize(("plies", "turn"), [(0, 0), (41, 41), (50, 58), (50, 59)])
def test_pruning_does_not_change_the_value_of_the_best_choice(plies: int, turn: int) -> None:
    state, depth = played(4, plies), 2
    choices = successors(*sides(state), state.squids)[:12]
    search = SwarmSearch(state.squids, SearchLimits(nodes=10**9, depth=depth), never)
    own, other = search.best(choices, sides(state)[1], turn)
    values = {
        (mine, theirs): -value_by_definition(theirs, mine, state.squids, turn + 1, search.depth - 1)
        for mine, theirs in choices
    }
    assert values[own, other] == max(values.values())


def test_a_decided_game_ends_the_search_and_a_blocked_player_has_lost() -> None:
    own: Shoal = (cells((4, 4), (6, 5)), 0, 0)
    other: Shoal = (cells((0, 9), (9, 0)), 0, 0)
    search = SwarmSearch(0, SearchLimits(nodes=10**9, depth=3), never)
    best = search.best(successors(own, other, 0), other, 1)
    assert rate(best[0]).is_united
    assert search.depth == 1
    blocked: Choice = (cells((0, 0)), 0, 0), (cells((1, 0), (0, 1), (1, 1), (9, 9)), 0, 0)
    assert search.value_of(*blocked, 1, 3, -2 * WIN, 2 * WIN) == 1 - WIN


@pytest.mark.parametrize("nodes", [1, 30, 300, 3000])
def test_the_work_exceeds_the_budget_by_the_moves_in_one_position_at_most(nodes: int) -> None:
    search = SwarmSearch(START.squids, SearchLimits(nodes), never)
    choices = successors(*sides(START), START.squids)
    assert search.best(choices, sides(START)[1], 0) in choices
    assert search.nodes < nodes + 128


@pytest.mark.parametrize("limits", [SearchLimits(1), SearchLimits(300)])
def test_the_same_seed_gives_the_same_moves(limits: SearchLimits) -> None:
    games: list[list[object]] = []
    for _ in range(2):
        state, rng = START, random.Random(5)
        moves: list[object] = []
        while len(moves) < 8:
            move = choose_move(limits, state, rng, SearchBudget(math.inf, clock=lambda: 0.0))
            moves.append(move)
            state = state.play(move)
        games.append(moves)
    assert games[0] == games[1]


@pytest.mark.parametrize("number", range(1, 1 + len(LEVELS)))
def test_a_level_answers_with_a_legal_move(number: int) -> None:
    assert START.check(make_chooser(f"level-{number}", seed=1)(START)) is None


def test_the_clock_ends_a_search_that_takes_too_long() -> None:
    seconds = count(0.0, LONGEST_SEARCH / 4)
    budget = SearchBudget(clock=lambda: next(seconds))
    move = choose_move(SearchLimits(nodes=10**9), START, random.Random(1), budget)
    assert START.check(move) is None
    assert budget.was_cut


def test_a_finished_game_has_no_move() -> None:
    over = PiranhasState(PIRANHAS_2026.rules, (Fish(1), Fish(4)), 0)
    with pytest.raises(NoMoveError, match="no move is possible"):
        make_chooser("level-1")(over)
