"""The view of Hase und Igel: the track, the players, the last move, and positions that cannot occur."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from functools import cache

import pytest

from spielleiter.game.hase_und_igel import HASE_UND_IGEL_2018, HaseUndIgelMove, HaseUndIgelState
from spielleiter.game.hase_und_igel.board import Advance, Board, Card, EatSalad, ExchangeCarrots, FallBack, Skip
from spielleiter.game.hase_und_igel.rules import HaseUndIgelMistake
from spielleiter.viewer.positions.describe import describe_illegal_move, describe_legal_moves, describe_position
from spielleiter.viewer.positions.hase_und_igel import _WORDS, _action


@cache
def played() -> list[HaseUndIgelState]:
    rng = random.Random(5)
    states = [HASE_UND_IGEL_2018.new_state(rng)]
    while states[-1].outcome() is None:
        states.append(states[-1].play(rng.choice(list(states[-1].generate_legal_moves()))))
    return states


def test_every_part_of_a_whole_game() -> None:
    states = played()
    for ply, state in enumerate(states):
        position = describe_position(state, ply, states[ply - 1] if ply else None)
        assert json.loads(json.dumps(position)) == position
        assert [field["type"] for field in position["track"]] == [field.name for field in state.board.fields]
        for seat, player in enumerate(state.players):
            shown = position["players"][seat]
            assert (shown["field"], shown["carrots"], shown["salads"]) == (player.index, player.carrots, player.salads)
            assert shown["cards"] == [card.name for card in player.cards]
            assert shown["points"] == player.index
            assert shown["lastAction"] == (None if player.last_action is None else str(player.last_action))
        if ply:
            move = position["lastMove"]
            assert move["player"] == states[ply - 1].seat_on_turn
            assert move["text"] == str(state.last_move)
            assert move["actions"] == [str(action) for action in (state.last_move or HaseUndIgelMove(())).in_order]
        else:
            assert position["lastMove"] is None
    last = describe_position(states[-1], len(states) - 1)
    assert last["sideToMove"] is None
    assert last["legalMoves"] == [0, 0]


def test_moves_are_counted_as_if_the_other_side_were_on_turn() -> None:
    state = played()[4]
    counts = describe_position(state, 4)["legalMoves"]
    assert counts[0] == len(list(state.generate_legal_moves()))
    assert counts[1] == len(list(replace(state, turn=5).generate_legal_moves()))
    assert len(describe_legal_moves(state, 4)["moves"]) == counts[0]
    assert describe_legal_moves(state, 4)["moves"][0]["text"] == str(next(state.generate_legal_moves()))


@pytest.mark.slow
def test_each_action_of_a_legal_move_is_described() -> None:
    found = set()
    for ply, state in enumerate(played()):
        moves = list(state.generate_legal_moves())
        for entry, move in zip(describe_legal_moves(state, ply)["moves"], moves, strict=True):
            after = state.play(move).players[state.seat_on_turn]
            assert entry["field"] in {None, after.index}
            assert (entry["field"] is None) == (after.index == state.players[state.seat_on_turn].index)
            assert len(entry["actions"]) == len(move.in_order)
            for shown, action in zip(entry["actions"], move.in_order, strict=True):
                found.add(shown["type"])
                kind = type(action).__name__
                assert shown["type"] == kind[0].lower() + kind[1:]
                if isinstance(action, Advance):
                    assert shown["value"] == action.distance
                if isinstance(action, Card):
                    assert (shown["card"], shown["value"]) == (action.type.name, action.value)
    assert found >= {"advance", "card", "exchangeCarrots", "fallBack"}


def test_every_kind_of_action_has_its_name_on_the_wire() -> None:
    kinds = [_action(action)["type"] for action in (EatSalad(), FallBack(), Skip(), ExchangeCarrots(10))]
    assert kinds == ["eatSalad", "fallBack", "skip", "exchangeCarrots"]


def test_a_skip_is_called_one() -> None:
    state = replace(played()[4], last_move=HaseUndIgelMove((Skip(),)))
    assert describe_position(state, 4)["lastMove"]["kind"] == "SKIP"


def test_an_illegal_advance() -> None:
    state = played()[0]
    illegal = describe_illegal_move(state, HaseUndIgelMove((Advance(60),)), "text of the release")
    assert illegal is not None
    assert illegal["words"] == _WORDS[HaseUndIgelMistake.ADVANCE]
    assert (illegal["player"], illegal["color"]) == (0, "RED")
    assert describe_illegal_move(state, next(state.generate_legal_moves()), "") is None
    assert set(HaseUndIgelMistake) == set(_WORDS)


def test_moves_in_an_impossible_position_are_not_counted() -> None:
    state = played()[0]
    endless = replace(state, board=Board.from_letters("SC" + 4000 * "H"))
    rich = replace(state, players=(replace(state.players[0], carrots=2**31 - 1), state.players[1]))
    outside = replace(state, players=(replace(state.players[0], index=-(2**31)), state.players[1]))
    for position in (endless, rich, outside):
        assert describe_position(position, 0)["legalMoves"] is None
        assert describe_legal_moves(position, 0)["moves"] == []
        assert describe_illegal_move(position, HaseUndIgelMove((Advance(60),)), "") is None
