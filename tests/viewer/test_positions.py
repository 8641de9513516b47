"""Positions as JSON: of a game without a view of its own, of Blokus and of Hase und Igel.

`test_replay_files.py` compares boards, pieces and players with whole files.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import pytest
from msgspec import structs

from spielleiter.game.api import GameOverError, IllegalMoveError, Mistake, Move, Outcome
from spielleiter.game.blokus import BLOKUS_2021, SetMove, SkipMove
from spielleiter.game.blokus.moves import BlokusMistake
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.game.hase_und_igel import HaseUndIgelMove
from spielleiter.game.hase_und_igel.board import Advance, Board, Card, Skip
from spielleiter.game.hase_und_igel.rules import HaseUndIgelMistake
from spielleiter.game.mississippi_queen import MississippiQueenMistake
from spielleiter.game.piranhas import PiranhasMistake
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.positions.describe import (
    describe_illegal_move,
    describe_legal_moves,
    describe_position,
    skip_move,
    view_of,
)
from spielleiter.viewer.positions.view import View
from tests.viewer.replay_files import played

BLOKUS: list[Any] = played(EDITIONS["blokus-2027"], seed=3)
HASE: list[Any] = played(EDITIONS["hase-und-igel-2018"], seed=5)
BLUE, YELLOW, RED, GREEN = Color


class NimMistake(Mistake):
    TOO_MANY = 1


@dataclass(frozen=True)
class Take:
    count: int


@dataclass(frozen=True)
class Nim:
    """Take 1 or 2 of the rest; a game that the viewer knows nothing about."""

    rest: int = 3
    turn: int = 0
    note: object = "x" * 1000
    last_move: Take | None = None

    @property
    def round(self) -> int:
        return 1 + self.turn // 2

    @property
    def seat_on_turn(self) -> int:
        return self.turn % 2

    def check(self, move: Move) -> NimMistake | None:
        if self.outcome() is not None:
            raise GameOverError(move)
        if not isinstance(move, Take):
            raise TypeError(move)
        return None if move.count <= self.rest else NimMistake.TOO_MANY

    def play(self, move: Move) -> Nim:
        mistake = self.check(move)
        if mistake is not None:
            raise IllegalMoveError(mistake, move)
        assert isinstance(move, Take)
        return replace(self, rest=self.rest - move.count, turn=self.turn + 1, last_move=move)

    def generate_legal_moves(self) -> list[Take]:
        return [Take(count) for count in (1, 2) if count <= self.rest]

    def outcome(self) -> Outcome | None:
        return None if self.rest else Outcome(1 - self.seat_on_turn, "last")

    def points(self, seat: int) -> tuple[int, ...]:
        return (seat, self.rest)


def test_a_table_has_the_fields_of_structs_as_well() -> None:
    assert {"turn", "round", "valid_mask"} <= View().parts(BLOKUS[5])["fields"].keys()


def test_a_game_without_a_view_is_a_table() -> None:
    state = Nim()
    after = state.play(Take(2))
    position = describe_position(after, 1, state)
    assert json.loads(json.dumps(position)) == position
    assert (position["game"], position["legalMoves"], view_of(state).pieces()) == ("table", None, {})
    assert len(position["fields"].pop("note")) < 300
    assert position["fields"] == {"turn": 1, "round": 1, "rest": 1, "last_move": "Take(count=2)"}
    assert position["sideToMove"] == {"player": 1, "color": None}
    assert position["players"][1] == {"points": 1, "fields": {"1": 1, "2": 1}}
    assert position["lastMove"] == {"player": 0, "color": None, "kind": "Take", "text": "Take(count=2)"}
    assert describe_position(after, 1)["lastMove"]["player"] is None
    assert describe_position(state, 0)["lastMove"] is None
    moves = [{"index": 0, "text": "Take(count=1)"}]
    assert describe_legal_moves(after, 1) == {"ply": 1, "canSkip": False, "moves": moves}
    illegal = describe_illegal_move(Nim(1), Take(2), "no")
    assert illegal is not None
    assert (illegal["rule"], illegal["text"]) == ("The move breaks a rule: too many.", "no")
    for rest, move in ((1, Take(1)), (0, Take(1)), (1, "no move")):  # legal, after the end, of another game
        assert describe_illegal_move(Nim(rest), move, "no") is None


def test_small_pictures_show_the_colours_of_the_board_or_how_far_the_pawns_are() -> None:
    board = view_of(BLOKUS[5]).picture(BLOKUS[5])
    assert board == {"width": 20, "cells": describe_position(BLOKUS[5], 5)["board"]["cells"]}
    start = EDITIONS["hase-und-igel-2018"].game.new_state(random.Random(1))
    assert view_of(start).picture(start) == {"goal": 64, "fields": [0, 0]}
    assert view_of(Nim()).picture(Nim()) is None


def test_the_last_move_of_blokus_is_shown_and_found_if_it_was_not_written_down() -> None:
    for ply, (before, after) in enumerate(pairwise(BLOKUS), 1):
        old, shown = describe_position(before, ply - 1), describe_position(after, ply, before)
        both = zip(old["board"]["cells"], shown["board"]["cells"], strict=True)
        covered = [[index % 20, index // 20] for index, (one, other) in enumerate(both) if one != other]
        known, found = (
            shown["lastMove"],
            describe_position(structs.replace(after, last_move=None), ply, before)["lastMove"],
        )
        for move in (known, found):
            assert sorted(move["cells"], key=lambda cell: cell[::-1]) == covered
            side = {"player": move["player"], "color": move["color"]}
            assert (side, move["piece"], move["kind"]) == (old["sideToMove"], after.last_move.shape.name, "SET")
        assert known["text"] == str(after.last_move)
        for seat in (0, 1):
            points = [color["points"] for color in shown["colors"] if color["player"] == seat]
            assert sum(points) == shown["players"][seat]["points"] == after.points(seat)[0]
    unknown = structs.replace(BLOKUS[5], last_move=None)
    assert [describe_position(unknown, 5, before)["lastMove"] for before in (None, BLOKUS[5])] == [None, None]


def test_a_skip_belongs_to_the_colour_that_was_on_turn_and_is_offered_where_it_is_legal() -> None:
    before = BLOKUS[8]
    move = describe_position(before.play(SkipMove()), 9, before)["lastMove"]
    assert (move["kind"], move["color"]) == ("SKIP", before.color_on_turn.name)
    nameless = structs.replace(before, last_move=SkipMove(None))
    assert describe_position(nameless, 9, BLOKUS[7])["lastMove"]["color"] == BLOKUS[7].color_on_turn.name
    assert describe_position(nameless, 9)["lastMove"]["player"] is None
    assert [skip_move(BLOKUS[ply]) for ply in (0, 4, -1)] == [None, SkipMove(BLOKUS[4].color_on_turn), None]
    assert not describe_legal_moves(BLOKUS[0], 0)["canSkip"]
    assert describe_legal_moves(BLOKUS[-1], 9) == {"ply": 9, "canSkip": False, "moves": []}
    skipped = describe_position(structs.replace(HASE[4], last_move=HaseUndIgelMove((Skip(),))), 4)
    assert skipped["lastMove"]["kind"] == "SKIP"


def test_legal_moves_of_blokus_are_counted_for_both_sides_and_shown_with_their_cells() -> None:
    state = BLOKUS[6]
    moves, overlay = list(state.generate_legal_moves()), describe_legal_moves(state, 6)
    assert (overlay["ply"], overlay["canSkip"], len(overlay["moves"])) == (6, True, len(moves))
    for index, (shown, move) in list(enumerate(zip(overlay["moves"], moves, strict=True)))[::20]:
        assert (shown["index"], shown["text"]) == (index, str(move))
        assert (shown["piece"], shown["rotation"]) == (move.shape.name, move.rotation.name)
        assert (shown["isFlipped"], shown["x"], shown["y"]) == (move.is_flipped, move.x, move.y)
        after = state.play(move)
        everywhere = [[x, y] for x in range(20) for y in range(20)]
        covered = [cell for cell in everywhere if after.color_at(*cell) is not state.color_at(*cell)]
        assert sorted(shown["cells"]) == covered
    colors = [state.count_placements(color) for color in Color]
    assert colors[state.color_on_turn] == len(moves)
    assert describe_position(state, 6)["legalMoves"] == [colors[BLUE] + colors[RED], colors[YELLOW] + colors[GREEN]]
    end = describe_position(BLOKUS[-1], 99)
    assert (end["legalMoves"], end["sideToMove"], end["isOver"]) == ([0, 0], None, True)


def with_first_pieces(plies: int = 4) -> Any:
    """BLUE lies at (0, 0) to (0, 4), YELLOW from (19, 0) down, RED from (0, 15) down, GREEN from (19, 15) down."""
    state = BLOKUS_2021.with_options({"startPiece": "PENTO_I"}).new_state(random.Random(0))
    for color, x, y in ((BLUE, 0, 0), (YELLOW, 19, 0), (RED, 0, 15), (GREEN, 19, 15))[:plies]:
        state = state.play(SetMove(color, Shape.PENTO_I, Rotation.NONE, is_flipped=False, x=x, y=y))
    return state


def placed(x: int, y: int, shape: Shape = Shape.DOMINO, color: Color = BLUE) -> SetMove:
    return SetMove(color, shape, Rotation.NONE, is_flipped=False, x=x, y=y)


@pytest.mark.parametrize(
    ("plies", "move", "mistake", "offending"),
    [
        (4, placed(19, 10), BlokusMistake.OUT_OF_BOUNDS, [[20, 10]]),
        (4, placed(18, 2), BlokusMistake.OBSTRUCTED, [[19, 2]]),
        (4, placed(1, 4), BlokusMistake.TOUCHES_SAME_COLOR, [[1, 4]]),
        (4, placed(8, 8), BlokusMistake.NO_SHARED_CORNER, [[8, 8], [9, 8]]),
        (0, placed(8, 8, Shape.PENTO_I), BlokusMistake.NOT_IN_CORNER, [[8, 8 + n] for n in range(5)]),
        (0, SkipMove(), BlokusMistake.SKIP_FIRST_TURN, []),
    ],
)
def test_the_picture_of_an_illegal_move(plies: int, move: Move, mistake: BlokusMistake, offending: list[Any]) -> None:
    illegal = describe_illegal_move(with_first_pieces(plies), move, "text of the release")
    assert illegal is not None
    assert sorted(illegal["offendingCells"]) == offending
    assert illegal["words"] == view_of(BLOKUS[0]).rule_words(mistake)
    assert illegal["rule"] == illegal["words"]["en"]
    assert (illegal["player"], illegal["color"], illegal["text"]) == (0, "BLUE", "text of the release")
    if isinstance(move, SetMove):
        assert (illegal["piece"], len(illegal["cells"])) == (move.shape.name, 5 if plies == 0 else 2)
    else:
        assert (illegal["piece"], illegal["cells"]) == (None, [])


@pytest.mark.parametrize(
    ("edition", "mistakes"),
    [
        ("blokus-2027", BlokusMistake),
        ("hase-und-igel-2018", HaseUndIgelMistake),
        ("mississippi-queen-2024", MississippiQueenMistake),
        ("piranhas-2026", PiranhasMistake),
    ],
)
def test_every_rule_has_a_sentence_in_both_languages(edition: str, mistakes: type[Mistake]) -> None:
    view = view_of(EDITIONS[edition].game)
    assert set(view.rule_texts) == set(mistakes)
    for mistake in mistakes:
        words = view.rule_words(mistake)
        assert set(words) == {"de", "en"}
        assert all(text.endswith(".") for text in words.values())


def test_moves_of_hase_und_igel_are_described_by_their_actions_and_fields() -> None:
    found = set()
    for ply, (before, after) in enumerate(pairwise(HASE), 1):
        last = describe_position(after, ply, before)["lastMove"]
        assert (last["player"], last["text"]) == (before.seat_on_turn, str(after.last_move))
        assert last["actions"] == [str(action) for action in after.last_move.in_order]
        moves, overlay = list(before.generate_legal_moves()), describe_legal_moves(before, ply - 1)["moves"]
        counts = describe_position(before, ply - 1)["legalMoves"]
        assert counts[before.seat_on_turn] == len(moves) == len(overlay)
        assert counts[1 - before.seat_on_turn] == len(list(structs.replace(before, turn=ply).generate_legal_moves()))
        for shown, move in zip(overlay, moves, strict=True):
            place, there = (state.players[before.seat_on_turn].index for state in (before, before.play(move)))
            assert (shown["text"], shown["field"]) == (str(move), None if place == there else there)
            for entry, action in zip(shown["actions"], move.in_order, strict=True):
                kind = type(action).__name__
                card = action.type.name if isinstance(action, Card) else None
                value = action.distance if isinstance(action, Advance) else getattr(action, "value", None)
                assert entry == {"type": kind[0].lower() + kind[1:], "value": value, "card": card}
                found.add(kind)
    assert found >= {"Advance", "Card", "ExchangeCarrots", "FallBack"}
    end = describe_position(HASE[-1], len(HASE) - 1)
    assert (end["sideToMove"], end["legalMoves"]) == (None, [0, 0])
    illegal = describe_illegal_move(HASE[0], HaseUndIgelMove((Advance(60),)), "text of the release")
    assert illegal is not None
    assert illegal["words"] == view_of(HASE[0]).rule_words(HaseUndIgelMistake.ADVANCE)
    assert illegal["color"] == "RED"
    assert describe_illegal_move(HASE[0], next(iter(HASE[0].generate_legal_moves())), "") is None


def test_moves_in_an_impossible_position_are_not_counted() -> None:
    state = HASE[0]
    endless = structs.replace(state, board=Board.from_letters("SC" + 4000 * "H"))
    rich = structs.replace(state, players=(structs.replace(state.players[0], carrots=2**31 - 1), state.players[1]))
    outside = structs.replace(state, players=(structs.replace(state.players[0], index=-(2**31)), state.players[1]))
    for position in (endless, rich, outside):
        assert describe_position(position, 0)["legalMoves"] is None
        assert describe_legal_moves(position, 0)["moves"] == []
        assert describe_illegal_move(position, HaseUndIgelMove((Advance(60),)), "") is None
