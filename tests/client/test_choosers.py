"""Each chooser picks the moves that its strategy describes, in every game."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator

import pytest

from spielleiter.client.choosers import first_move, greedy_move, illegal_move, make_chooser, random_move
from spielleiter.client.errors import StrategyError
from spielleiter.client.strategies import STRATEGIES
from spielleiter.game.api import State
from spielleiter.game.blokus.moves import SetMove
from spielleiter.game.blokus.pieces import SIZES
from spielleiter.game.blokus.state import BLOKUS_2021, BlokusState
from spielleiter.game.hase_und_igel.state import HASE_UND_IGEL_2018
from tests.client.fake import START
from tests.documents import ROOT


def _positions() -> Iterator[BlokusState]:
    """Every tenth position of a game between random players."""
    rng = random.Random(1)
    state = START
    while state.outcome() is None:
        if state.turn % 10 == 0:
            yield state
        state = state.play(rng.choice(list(state.generate_legal_moves())))


def test_good_choosers_play_legal_moves() -> None:
    rng = random.Random(0)
    for state in _positions():
        for choose in (first_move, random_move, greedy_move):
            assert state.check(choose(state, rng)) is None


def test_first_takes_the_first() -> None:
    assert first_move(START, random.Random(0)) == next(START.generate_legal_moves())


def test_greedy_places_the_largest_piece_it_can() -> None:
    for state in _positions():
        move = greedy_move(state, random.Random(0))
        assert isinstance(move, SetMove)
        assert SIZES[move.shape] == max(SIZES[each.shape] for each in state.generate_legal_moves())


def test_greedy_beats_random() -> None:
    rng = random.Random(3)
    state: BlokusState = START
    while state.outcome() is None:
        choose = (greedy_move, random_move)[state.seat_on_turn]
        state = state.play(choose(state, rng))
    (greedy,), (at_random,) = state.points(0), state.points(1)
    assert greedy > at_random


@pytest.mark.parametrize("choose", [random_move, greedy_move])
def test_the_same_seed_gives_the_same_move(choose: object) -> None:
    assert callable(choose)
    assert len({choose(START, random.Random(7)) for _ in range(5)}) == 1
    assert len({choose(START, random.Random(seed)) for seed in range(20)}) > 1


def test_illegal_breaks_a_rule_in_every_position() -> None:
    for state in _positions():
        assert state.check(illegal_move(state, random.Random(0))) is not None


def test_choosers_work_for_every_game() -> None:
    state = HASE_UND_IGEL_2018.new_state(random.Random(0))
    for choose in (first_move, random_move, greedy_move):
        assert state.check(choose(state, random.Random(0))) is None
    assert state.check(illegal_move(state, random.Random(0))) is not None


class _Stuck(BlokusState):
    """A position without a move."""

    __slots__ = ()

    def generate_legal_moves(self) -> Iterator[SetMove]:
        return iter(())


class _LastMove(BlokusState):
    """A position in which every move ends in one without moves."""

    __slots__ = ()

    def play(self, move: object) -> BlokusState:
        return _Stuck(START.rules, START.start_shape)


def test_a_request_without_a_possible_move_is_an_error() -> None:
    with pytest.raises(StrategyError, match="a move was requested at turn 0, but no move is possible"):
        first_move(_Stuck(START.rules, START.start_shape), random.Random(0))


def test_illegal_plays_a_legal_move_where_it_finds_no_illegal_one() -> None:
    state = _LastMove(START.rules, START.start_shape)
    assert illegal_move(state, random.Random(0)) == next(START.generate_legal_moves())


@pytest.mark.slow
def test_greedy_wins_at_hase_und_igel() -> None:
    won = 0
    for seed in range(6):
        rng = random.Random(seed)
        state: State = HASE_UND_IGEL_2018.new_state(rng)
        while (outcome := state.outcome()) is None:
            choose = greedy_move if state.seat_on_turn == seed % 2 else random_move
            state = state.play(choose(state, rng))
        won += outcome.winner == seed % 2
    assert won >= 5


def test_a_good_strategy_can_be_used_as_a_plain_function() -> None:
    state = BLOKUS_2021.new_state(random.Random(1))
    for name, kind in STRATEGIES.items():
        if kind.plays(BLOKUS_2021) and not kind.is_bad and not kind.is_level:  # tests of levels: tests/client/levels
            assert make_chooser(name, seed=1)(state) == make_chooser(name, seed=1)(state)
            assert state.check(make_chooser(name, seed=1)(state)) is None


def test_a_strategy_that_needs_a_connection_has_no_chooser() -> None:
    assert [name for name, kind in STRATEGIES.items() if kind.choose is None] == ["slow", "crash", "garbage", "silent"]
    with pytest.raises(KeyError, match="silent"):
        make_chooser("silent")


@pytest.mark.slow
def test_choosers_do_not_load_trio() -> None:
    """Many matches start processes that compute the moves of built-in players."""
    code = "import sys, spielleiter.match.builtin_process; sys.exit('trio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT).returncode == 0
