"""Invariants of every position of every game, tested on random games."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.game.api import IllegalMoveError
from spielleiter.game.hase_und_igel import (
    GOAL_INDEX,
    Advance,
    Card,
    CardType,
    EatSalad,
    ExchangeCarrots,
    FallBack,
    FieldType,
    HaseUndIgelMove,
    HaseUndIgelState,
    Player,
    Skip,
)
from tests.game.hase_und_igel.playouts import (
    FIRST_ACTIONS,
    MOST_ACTIONS,
    legal_by_every_trial,
    legal_by_trial,
    play_out,
    positions,
)

seeds = st.integers(min_value=0, max_value=2**32 - 1)
few = settings(max_examples=6)
many = settings(max_examples=100)


def check_players(state: HaseUndIgelState) -> None:
    for player in state.players:
        assert 0 <= player.index <= GOAL_INDEX
        assert player.carrots >= 0
        assert 0 <= player.salads <= 5
        assert list(player.cards) == [card for card in CardType if card in player.cards]
        if player.index == GOAL_INDEX:
            assert player.salads == 0
        if state.board.type_at(player.index) is FieldType.START:
            assert player == Player()
    red, blue = state.players
    assert red.index != blue.index or red.index in {0, GOAL_INDEX}


def check_game(seed: int) -> None:
    """Check the invariants of one game from its start to its end."""
    turn = 0
    for state, move, after in play_out(seed):
        check_players(after)
        assert state.turn == turn
        turn += 1
        assert after.turn == turn
        assert after.board is state.board
        assert after.last_move == move
        assert move.actions is not None
        assert len(move.actions) <= MOST_ACTIONS
        mover, before = after.opponent, state.player_on_turn
        actions = [action for action in move.actions if not isinstance(action, Skip)]
        assert mover.last_action == (actions[-1] if actions else before.last_action)
        played = [action.type for action in move.actions if isinstance(action, Card)]
        assert sorted(card.name for card in before.cards) == sorted(card.name for card in (*mover.cards, *played))
        waiting = after.player_on_turn
        assert replace(waiting, carrots=0) == replace(state.opponent, carrots=0)
        if waiting.carrots != state.opponent.carrots:
            gain = {FieldType.POSITION_1: 10, FieldType.POSITION_2: 30}
            field = state.board.type_at(waiting.index)
            assert field in gain
            assert waiting.carrots == state.opponent.carrots + gain[field]
            assert (waiting.index > mover.index) is (field is FieldType.POSITION_1)
    assert turn <= 60
    outcome = after.outcome()
    assert outcome is not None
    assert outcome.winner is not None
    assert (turn == 60) or outcome.reason == "goal"
    assert turn % 2 == 0
    assert (outcome.reason == "goal") is (max(player.index for player in after.players) == GOAL_INDEX)
    winner, loser = after.points(outcome.winner), after.points(1 - outcome.winner)
    assert (winner[0], -winner[1]) >= (loser[0], -loser[1])


@given(seeds)
@few
def test_players_stay_within_the_rules(seed: int) -> None:
    check_game(seed)


@pytest.mark.no_cover
@pytest.mark.slow
@given(seeds)
@many
def test_players_stay_within_the_rules_in_many_games(seed: int) -> None:
    check_game(seed)


def ledger(state: HaseUndIgelState, move: HaseUndIgelMove) -> tuple[int, int]:
    """The carrots and salads of the mover after `move`, computed from the costs and its way over the board."""
    mover, other = state.player_on_turn, state.opponent
    index, carrots, salads = mover.index, mover.carrots, mover.salads
    for action in move.in_order:
        if isinstance(action, Advance):
            index += action.distance
            carrots -= sum(range(1, action.distance + 1))
        elif isinstance(action, ExchangeCarrots):
            carrots += action.value
        elif isinstance(action, FallBack):
            while state.board.type_at(index) is not FieldType.HEDGEHOG or index == mover.index:
                index -= 1
                carrots += 10
        elif isinstance(action, Card) and action.type is CardType.TAKE_OR_DROP_CARROTS:
            carrots += action.value
        elif isinstance(action, Card) and action.type is CardType.HURRY_AHEAD:
            index = other.index + 1
        elif isinstance(action, Card) and action.type is CardType.FALL_BACK:
            index = other.index - 1
        elif isinstance(action, Card | EatSalad):
            carrots += 10 if index > other.index else 30
            salads -= 1
    return carrots, salads


@given(seeds)
@few
def test_carrots_and_salads_are_accounted_for(seed: int) -> None:
    for state, move, after in play_out(seed):
        assert (after.opponent.carrots, after.opponent.salads) == ledger(state, move)


def check_moves(state: HaseUndIgelState) -> None:
    """The generated moves are those found by trying all moves, each once; a skip is the only move if there is one."""
    moves = list(state.generate_legal_moves())
    assert len(moves) == len(set(moves)) > 0
    assert set(moves) == legal_by_trial(state)
    skip = HaseUndIgelMove((Skip(),))
    assert (skip in moves) is (moves == [skip])


@given(seeds, st.integers(min_value=0, max_value=59))
@settings(max_examples=8)
def test_generated_moves_are_those_found_by_trial(seed: int, turn: int) -> None:
    check_moves(list(positions(seed))[: turn + 1][-1])


@pytest.mark.no_cover
@pytest.mark.slow
@given(seeds)
@settings(max_examples=20)
def test_generated_moves_are_those_found_by_trial_in_whole_games(seed: int) -> None:
    for state in positions(seed):
        check_moves(state)


@pytest.mark.slow
@given(seeds, st.integers(min_value=0, max_value=59))
@settings(max_examples=8)
def test_generated_moves_are_those_found_by_trial_of_everything(seed: int, turn: int) -> None:
    state = list(positions(seed))[: turn + 1][-1]
    assert set(state.generate_legal_moves()) == legal_by_every_trial(state)


@given(seeds)
@settings(max_examples=4)
def test_actions_are_carried_out_in_the_order_of_their_attributes(seed: int) -> None:
    rng = random.Random(seed)
    for state, move, after in play_out(seed):
        assert move.actions is not None
        shuffled = HaseUndIgelMove(tuple(rng.sample(move.actions, len(move.actions))))
        assert state.play(shuffled) == after


@given(seeds)
@settings(max_examples=4)
def test_play_and_check_agree_and_an_illegal_move_changes_nothing(seed: int) -> None:
    for state in positions(seed):
        copy = replace(state)
        for action in FIRST_ACTIONS[::9]:
            move = HaseUndIgelMove((action,))
            mistake = state.check(move)
            if mistake is None:
                assert state.play(move).turn == state.turn + 1
            else:
                with pytest.raises(IllegalMoveError) as caught:
                    state.play(move)
                assert caught.value.mistake is mistake
            assert state == copy
