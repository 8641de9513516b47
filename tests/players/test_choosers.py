"""Each chooser picks the moves that its strategy describes, in every game; evaluations and levels."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from spielleiter.game.api import State
from spielleiter.game.blokus.moves import SetMove
from spielleiter.game.blokus.pieces import BOARD as ALL_CELLS
from spielleiter.game.blokus.pieces import EMPTY, SIZES, Color, Rotation, Shape
from spielleiter.game.blokus.state import BLOKUS_2021, RULES_2021, BlokusState
from spielleiter.game.hase_und_igel import Action, Advance, Board, EatSalad, HaseUndIgelMove, HaseUndIgelState, Player
from spielleiter.game.hase_und_igel.state import HASE_UND_IGEL_2018
from spielleiter.players.blokus import cells_and_corners
from spielleiter.players.choosers import (
    LEVEL_NUMBERS,
    TIMED_LEVEL,
    first_move,
    greedy_move,
    illegal_move,
    ladder_of,
    level_name,
    players_of,
    points_after,
    random_move,
)
from spielleiter.players.hase_und_igel import turns_to_the_goal
from spielleiter.players.search_budget import Choose, NoMoveError, SearchBudget
from spielleiter.players.strategies import STRATEGIES, make_chooser, seconds_problem, strategy_called
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import EDITIONS
from tests.client.fake import START

FROM_ELSEWHERE: Any = object()
"""Neither a position nor a game of this project."""


def _positions() -> Iterator[BlokusState]:
    """Every tenth position of a game between random players."""
    rng = random.Random(1)
    state = START
    while state.outcome() is None:
        if state.turn % 10 == 0:
            yield state
        state = state.play(rng.choice(list(state.generate_legal_moves())))


def test_greedy_places_the_largest_piece_it_can() -> None:
    for state in _positions():
        move = greedy_move(state, random.Random(0))
        assert isinstance(move, SetMove)
        assert SIZES[move.shape] == max(SIZES[each.shape] for each in state.generate_legal_moves())


@pytest.mark.parametrize("choose", [random_move, greedy_move])
def test_the_same_seed_gives_the_same_move(choose: object) -> None:
    assert callable(choose)
    assert len({choose(START, random.Random(7)) for _ in range(5)}) == 1
    assert len({choose(START, random.Random(seed)) for seed in range(20)}) > 1


def test_illegal_breaks_a_rule_in_every_position() -> None:
    for state in _positions():
        assert state.check(illegal_move(state, random.Random(0))) is not None


STUCK = replace(START, cells=(EMPTY, ALL_CELLS, EMPTY, EMPTY))
"""A position without a move."""


class _LastMove(BlokusState, frozen=True):
    """A position in which every move ends in one without moves."""

    def play(self, move: object) -> BlokusState:
        return STUCK


@pytest.mark.parametrize("choose", [first_move, random_move, greedy_move])
def test_a_request_without_a_possible_move_is_an_error(choose: Choose) -> None:
    with pytest.raises(NoMoveError, match="a move was requested at turn 0, but no move is possible"):
        choose(STUCK, random.Random(0))


def test_illegal_plays_a_legal_move_where_it_finds_no_illegal_one() -> None:
    state = _LastMove(START.rules, START.start_shape)
    assert illegal_move(state, random.Random(0)) == next(START.generate_legal_moves())


def test_a_good_strategy_can_be_used_as_a_plain_function() -> None:
    state = BLOKUS_2021.new_state(random.Random(1))
    for name, kind in STRATEGIES.items():
        if kind.plays(BLOKUS_2021) and not kind.is_bad and not kind.level:  # levels have tests of their own
            assert make_chooser(name, seed=1)(state) == make_chooser(name, seed=1)(state)
            assert state.check(make_chooser(name, seed=1)(state)) is None


def test_a_strategy_that_needs_a_connection_has_no_chooser() -> None:
    assert [name for name, kind in STRATEGIES.items() if kind.choose is None] == ["slow", "crash", "garbage", "silent"]
    with pytest.raises(KeyError, match="silent"):
        make_chooser("silent")


START_I = BlokusState(RULES_2021, Shape.PENTO_I)


def test_a_piece_counts_its_cells_then_the_corners_it_opens() -> None:
    # an I along the edge from the corner: only the diagonal neighbour of its far end is on the board and free
    along_the_edge = SetMove(Color.BLUE, Shape.PENTO_I, Rotation.RIGHT, False, 0, 0)
    assert cells_and_corners(START_I, along_the_edge) == (5, 1)


def test_occupied_cells_are_not_counted_as_corners() -> None:
    taken = 1 << (1 * 21 + 5)  # (5, 1), the one corner that the I along the edge would open
    state = BlokusState(RULES_2021, Shape.PENTO_I, cells=(0, taken, 0, 0))
    assert cells_and_corners(state, SetMove(Color.BLUE, Shape.PENTO_I, Rotation.RIGHT, False, 0, 0)) == (5, 0)


BOARD = Board.from_letters("SCCCCCCCCCLICCCICCCICCLCICCCCCICCCCCCICCCCLICCCCCCICCCCCILCCCCCCG")


def hare(index: int, carrots: int, salads: int = 0) -> HaseUndIgelState:
    """RED is to move, and BLUE is far away."""
    return HaseUndIgelState(BOARD, (Player(index, carrots, salads), Player(0)))


def rated(state: HaseUndIgelState, *actions: Action) -> tuple[int, ...]:
    return turns_to_the_goal(state, HaseUndIgelMove(actions))


def test_a_hare_in_the_goal_is_best() -> None:
    assert rated(hare(63, 5), Advance(1)) == (True, 0)


def test_a_hare_counts_the_turns_that_its_carrots_allow() -> None:
    # six fields in two leaps cost 6 + 6 carrots, in three leaps 3 + 3 + 3
    assert rated(hare(57, 13), Advance(1)) == (False, -2)
    assert rated(hare(57, 12), Advance(1)) == (False, -3)
    assert rated(hare(57, 6), Advance(1)) == (False, -7)  # one carrot is missing even for single steps


def test_surplus_carrots_cost_a_turn_for_each_ten() -> None:
    # the last two fields use up three carrots at most, and ten may be left
    assert rated(hare(61, 1 + 3 + 10), Advance(1)) == (False, -1)
    assert rated(hare(61, 1 + 3 + 10 + 11), Advance(1)) == (False, -3)


def test_reaching_a_salad_field_is_better_and_eating_there_is_best() -> None:
    before = rated(hare(8, 60, 1), Advance(1))
    at_it = rated(hare(9, 60, 1), Advance(1))
    eaten = rated(hare(10, 60, 1), EatSalad())
    assert before < at_it < eaten


def test_a_game_without_an_evaluation_is_evaluated_by_its_points() -> None:
    move = next(START_I.generate_legal_moves())
    assert points_after(START_I, move) == (SIZES[Shape.PENTO_I],)

    class Variant(BlokusState, frozen=True):
        pass

    assert players_of(Variant(RULES_2021, Shape.PENTO_I)).evaluate is cells_and_corners
    assert players_of(FROM_ELSEWHERE).evaluate is points_after


@pytest.mark.parametrize("seed", range(3))
def test_the_best_contenders_are_the_best_moves(seed: int) -> None:
    rng = random.Random(seed)
    state: State = START_I
    fewer = 0
    for _ in range(30):
        moves = list(state.generate_legal_moves())
        evaluate, left = players_of(state).evaluate, players_of(state).contenders(moves)
        best = max(evaluate(state, move) for move in moves)
        assert [m for m in left if evaluate(state, m) == best] == [m for m in moves if evaluate(state, m) == best]
        fewer += len(left) < len(moves)
        state = state.play(rng.choice(moves))
        if state.outcome() is not None:
            break
    assert fewer > 10


def test_without_a_selection_all_moves_are_evaluated() -> None:
    state = hare(0, 68)
    moves = list(state.generate_legal_moves())
    assert players_of(state).contenders(moves) is moves


@pytest.mark.parametrize("edition", EDITIONS.values(), ids=lambda edition: edition.name)
def test_a_strategy_plays_the_games_that_have_its_level(edition: Edition) -> None:
    game = edition.game
    levels = ladder_of(game)
    count = len(levels)
    assert [number for number, level in enumerate(levels, 1) if level.takes_time] in ([], [TIMED_LEVEL])
    playing = [number for number in LEVEL_NUMBERS if STRATEGIES[level_name(number)].plays(game)]
    assert playing == list(range(1, count + 1))


def test_a_level_that_takes_the_time_it_is_given_has_it_in_its_name() -> None:
    timed = [name for name, kind in STRATEGIES.items() if kind.takes_time]
    assert timed == ["level-9"]
    kind = strategy_called("level-9@0.01")
    assert kind is not None
    assert (kind.name, kind.plays(BLOKUS_2021), kind.plays(HASE_UND_IGEL_2018)) == ("level-9@0.01", True, False)
    assert kind.choose is not None
    budget = SearchBudget()
    *_, last = _positions()
    assert last.check(kind.choose(last, random.Random(1), budget)) is None
    assert budget.seconds == 0.01
    assert last.check(make_chooser("level-9@0.01", seed=1)(last)) is None
    assert strategy_called("level-9") is STRATEGIES["level-9"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("level-9@", "expected level-9@ with 0.01 to 60 seconds, such as level-9@0.5"),
        ("level-9@0", "expected level-9@ with 0.01 to 60 seconds, such as level-9@0.5"),
        ("level-9@61", "expected level-9@ with 0.01 to 60 seconds, such as level-9@0.5"),
        ("level-9@1e2", "expected level-9@ with 0.01 to 60 seconds, such as level-9@0.5"),
        ("level-9@nan", "expected level-9@ with 0.01 to 60 seconds, such as level-9@0.5"),
        ("level-9@1@1", "expected level-9@ with 0.01 to 60 seconds, such as level-9@0.5"),
        ("level-8@1", "expected level-8, which takes no time after @"),
        ("clever", ""),
        ("clever@1", ""),
    ],
)
def test_no_strategy_has_another_name(name: str, problem: str) -> None:
    assert strategy_called(name) is None
    assert seconds_problem(name) == problem
    with pytest.raises(KeyError):
        make_chooser(name)


def test_a_game_without_levels_says_so() -> None:
    kind = STRATEGIES["level-1"]
    assert kind.refusal(FROM_ELSEWHERE, "chess") == "the strategy level-1 does not play chess: this game has no levels"


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_can_play_every_game_unless_it_is_made_for_one(name: str) -> None:
    kind = STRATEGIES[name]
    if not kind.level:
        assert kind.plays(HASE_UND_IGEL_2018)
        assert kind.plays(BLOKUS_2021) == (not name.startswith("hui-"))
