"""Positions as JSON: of a game without a view of its own, of Blokus and of Hase und Igel."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from functools import cache

import pytest

from spielleiter.game.api import GameOverError, IllegalMoveError, Mistake, Move, Outcome
from spielleiter.game.blokus import BLOKUS_2021, BLOKUS_2027, BlokusState, SetMove, SkipMove
from spielleiter.game.blokus.moves import BlokusMistake
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.game.hase_und_igel import HASE_UND_IGEL_2018, HaseUndIgelMove, HaseUndIgelState
from spielleiter.game.hase_und_igel.board import Advance, Board, Card, EatSalad, ExchangeCarrots, FallBack, Skip
from spielleiter.game.hase_und_igel.rules import HaseUndIgelMistake
from spielleiter.viewer.positions.blokus import RULE_WORDS as BLOKUS_WORDS
from spielleiter.viewer.positions.describe import (
    describe_illegal_move,
    describe_legal_moves,
    describe_position,
    skip_move,
    view_of,
)
from spielleiter.viewer.positions.hase_und_igel import RULE_WORDS as HASE_WORDS
from spielleiter.viewer.positions.hase_und_igel import describe_action


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


def test_a_game_without_a_view_is_a_table() -> None:
    state = Nim()
    after = state.play(Take(2))
    position = describe_position(after, 1, state)
    assert json.loads(json.dumps(position)) == position
    assert position["game"] == "table"
    assert position["fields"]["rest"] == 1
    assert position["fields"]["turn"] == 1
    assert len(position["fields"]["note"]) < 300
    assert position["sideToMove"] == {"player": 1, "color": None}
    assert position["players"][1] == {"points": 1, "fields": {"1": 1, "2": 1}}
    assert position["legalMoves"] is None
    assert position["lastMove"] == {"player": 0, "color": None, "kind": "Take", "text": "Take(count=2)"}
    assert describe_position(after, 1)["lastMove"]["player"] is None
    assert describe_position(state, 0)["lastMove"] is None
    assert describe_legal_moves(after, 1) == {
        "ply": 1,
        "canSkip": False,
        "moves": [{"index": 0, "text": "Take(count=1)"}],
    }
    assert view_of(state).pieces() == {}


def test_illegal_moves_of_a_game_without_a_view() -> None:
    illegal = describe_illegal_move(Nim(1), Take(2), "no")
    assert illegal is not None
    assert illegal["rule"] == "The move breaks a rule: too many."
    assert illegal["text"] == "no"
    assert describe_illegal_move(Nim(1), Take(1), "no") is None
    assert describe_illegal_move(Nim(0), Take(1), "no") is None
    assert describe_illegal_move(Nim(1), "no move", "no") is None


BLUE, YELLOW, RED, GREEN = Color


@cache
def played(game_seed: int = 3, game: object = BLOKUS_2027) -> list[BlokusState]:
    assert game in {BLOKUS_2021, BLOKUS_2027}
    rng = random.Random(game_seed)
    states = [BLOKUS_2027.new_state(rng) if game == BLOKUS_2027 else BLOKUS_2021.new_state(rng)]
    while states[-1].outcome() is None:
        states.append(states[-1].play(rng.choice(list(states[-1].generate_legal_moves()))))
    return states


@pytest.mark.slow
def test_every_cell_piece_and_point_of_a_whole_game() -> None:
    states = played()
    for ply, state in enumerate(states):
        position = describe_position(state, ply, states[ply - 1] if ply else None)
        assert json.loads(json.dumps(position)) == position
        cells = position["board"]["cells"]
        for y in range(20):
            for x in range(20):
                color = state.color_at(x, y)
                assert cells[20 * y + x] == ("." if color is None else color.name[0])
        for color, entry in zip(Color, position["colors"], strict=True):
            assert entry["name"] == color.name
            assert entry["remaining"] == [shape.name for shape in state.remaining_shapes(color)]
            assert entry["isInGame"] == (color in state.valid_colors)
        assert [player["points"] for player in position["players"]] == [state.points(0)[0], state.points(1)[0]]
        for seat in (0, 1):
            points = [entry["points"] for entry in position["colors"] if entry["player"] == seat]
            assert sum(points) == state.points(seat)[0]
        assert (position["ply"], position["turn"], position["round"]) == (ply, state.turn, state.round)


def test_the_last_move_covers_exactly_the_new_cells() -> None:
    states = played()
    for ply in range(1, len(states)):
        position = describe_position(states[ply], ply, states[ply - 1])
        before = describe_position(states[ply - 1], ply - 1)
        old, new = before["board"]["cells"], position["board"]["cells"]
        covered = {(index % 20, index // 20) for index in range(400) if old[index] != new[index]}
        move = position["lastMove"]
        assert {(x, y) for x, y in move["cells"]} == covered
        assert (move["player"], move["color"]) == (before["sideToMove"]["player"], before["sideToMove"]["color"])
        assert move["kind"] == "SET"
        assert move["text"] == str(states[ply].last_move)


def test_the_last_move_is_found_by_comparing_if_it_is_not_in_the_position() -> None:
    states = played()
    known = describe_position(states[5], 5, states[4])["lastMove"]
    found = describe_position(replace(states[5], last_move=None), 5, states[4])["lastMove"]
    assert (found["color"], found["piece"], found["player"]) == (known["color"], known["piece"], known["player"])
    assert sorted(found["cells"]) == sorted(known["cells"])
    assert describe_position(replace(states[5], last_move=None), 5)["lastMove"] is None
    assert describe_position(replace(states[5], last_move=None), 5, states[5])["lastMove"] is None


def test_a_skip_belongs_to_the_colour_that_was_on_turn() -> None:
    before = played()[8]
    position = describe_position(before.play(SkipMove()), 9, before)
    assert position["lastMove"]["kind"] == "SKIP"
    assert position["lastMove"]["color"] == before.color_on_turn.name
    nameless = replace(before, last_move=SkipMove(None))
    assert describe_position(nameless, 9, played()[7])["lastMove"]["color"] == played()[7].color_on_turn.name
    assert describe_position(nameless, 9)["lastMove"]["player"] is None


def test_legal_moves_are_counted_for_both_sides_and_are_none_at_the_end() -> None:
    states = played()
    state = states[6]
    own = len(list(state.generate_legal_moves()))
    counts = describe_position(state, 6)["legalMoves"]
    colors = [state.count_placements(color) for color in Color]
    assert colors[state.color_on_turn] == own
    assert counts == [colors[BLUE] + colors[RED], colors[YELLOW] + colors[GREEN]]
    assert describe_position(states[-1], 99)["legalMoves"] == [0, 0]
    assert describe_position(states[-1], 99)["sideToMove"] is None
    assert describe_position(states[-1], 99)["isOver"]


@pytest.mark.slow
def test_the_overlay_has_every_legal_move_with_its_cells() -> None:
    state = played()[6]
    moves = list(state.generate_legal_moves())
    overlay = describe_legal_moves(state, 6)
    assert overlay["ply"] == 6
    assert overlay["canSkip"]
    assert [entry["index"] for entry in overlay["moves"]] == list(range(len(moves)))
    assert [entry["text"] for entry in overlay["moves"]] == [str(move) for move in moves]
    assert len(overlay["moves"]) == len(moves)
    for entry, move in zip(overlay["moves"], moves, strict=True):
        assert (
            SetMove(
                state.color_on_turn,
                Shape[entry["piece"]],
                Rotation[entry["rotation"]],
                entry["isFlipped"],
                entry["x"],
                entry["y"],
            )
            == move
        )
        after = state.play(move)
        assert {(x, y) for x, y in entry["cells"]} == {
            (x, y) for x in range(20) for y in range(20) if after.color_at(x, y) != state.color_at(x, y)
        }


START = BLOKUS_2021.with_options({"startPiece": "PENTO_I"})


def with_first_pieces() -> BlokusState:
    """BLUE lies at (0, 0) to (0, 4), YELLOW from (19, 0) down, RED from (0, 15) down, GREEN from (19, 15) down."""
    state = START.new_state(random.Random(0))
    for color, x, y in ((BLUE, 0, 0), (YELLOW, 19, 0), (RED, 0, 15), (GREEN, 19, 15)):
        state = state.play(SetMove(color, Shape.PENTO_I, Rotation.NONE, is_flipped=False, x=x, y=y))
    return state


def mono(x: int, y: int, shape: Shape = Shape.DOMINO, color: Color = BLUE) -> SetMove:
    return SetMove(color, shape, Rotation.NONE, is_flipped=False, x=x, y=y)


@pytest.mark.parametrize(
    ("move", "mistake", "offending"),
    [
        (mono(19, 10), BlokusMistake.OUT_OF_BOUNDS, [[20, 10]]),
        (mono(18, 2), BlokusMistake.OBSTRUCTED, [[19, 2]]),
        (mono(1, 4), BlokusMistake.TOUCHES_SAME_COLOR, [[1, 4]]),
        (mono(8, 8), BlokusMistake.NO_SHARED_CORNER, [[8, 8], [9, 8]]),
        (mono(1, 5, Shape.PENTO_I), BlokusMistake.DUPLICATE_SHAPE, [[1, 5 + n] for n in range(5)]),
        (mono(1, 5, color=RED), BlokusMistake.WRONG_COLOR, [[1, 5], [2, 5]]),
    ],
)
def test_the_picture_of_an_illegal_move(move: SetMove, mistake: BlokusMistake, offending: list[list[int]]) -> None:
    state = with_first_pieces()
    assert state.check(move) is mistake
    illegal = describe_illegal_move(state, move, "text of the release")
    assert illegal is not None
    assert sorted(illegal["offendingCells"]) == sorted(offending)
    assert len(illegal["cells"]) in {2, 5}
    assert illegal["piece"] == move.shape.name
    assert (illegal["player"], illegal["color"], illegal["text"]) == (0, "BLUE", "text of the release")
    assert illegal["words"] == BLOKUS_WORDS[mistake]
    assert illegal["rule"] == BLOKUS_WORDS[mistake]["en"]


def test_first_pieces_in_the_wrong_place_and_a_skip_too_early() -> None:
    state = START.new_state(random.Random(0))
    illegal = describe_illegal_move(state, mono(8, 8, Shape.PENTO_I), "")
    assert illegal is not None
    assert illegal["words"] == BLOKUS_WORDS[BlokusMistake.NOT_IN_CORNER]
    assert len(illegal["offendingCells"]) == 5
    skipped = describe_illegal_move(state, SkipMove(), "")
    assert skipped is not None
    assert (skipped["piece"], skipped["cells"]) == (None, [])


def test_every_rule_has_a_sentence_in_both_languages() -> None:
    for mistake in BlokusMistake:
        assert set(BLOKUS_WORDS[mistake]) == {"de", "en"}
        assert all(text.endswith(".") for text in BLOKUS_WORDS[mistake].values())


def test_a_legal_move_and_a_move_after_the_end_have_no_picture() -> None:
    states = played()
    assert describe_illegal_move(states[4], next(iter(states[4].generate_legal_moves())), "") is None
    assert describe_illegal_move(states[-1], mono(0, 0), "") is None


def test_a_skip_is_offered_only_where_it_is_legal() -> None:
    states = played()
    assert skip_move(states[0]) is None
    assert not describe_legal_moves(states[0], 0)["canSkip"]
    assert skip_move(states[4]) == SkipMove(states[4].color_on_turn)
    assert skip_move(states[-1]) is None
    assert describe_legal_moves(states[-1], 9) == {"ply": 9, "canSkip": False, "moves": []}


@cache
def run_of_hares() -> list[HaseUndIgelState]:
    rng = random.Random(5)
    states = [HASE_UND_IGEL_2018.new_state(rng)]
    while states[-1].outcome() is None:
        states.append(states[-1].play(rng.choice(list(states[-1].generate_legal_moves()))))
    return states


def test_every_part_of_a_whole_game() -> None:
    states = run_of_hares()
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
    state = run_of_hares()[4]
    counts = describe_position(state, 4)["legalMoves"]
    assert counts[0] == len(list(state.generate_legal_moves()))
    assert counts[1] == len(list(replace(state, turn=5).generate_legal_moves()))
    assert len(describe_legal_moves(state, 4)["moves"]) == counts[0]
    assert describe_legal_moves(state, 4)["moves"][0]["text"] == str(next(state.generate_legal_moves()))


@pytest.mark.slow
def test_each_action_of_a_legal_move_is_described() -> None:
    found = set()
    for ply, state in enumerate(run_of_hares()):
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
    kinds = [describe_action(action)["type"] for action in (EatSalad(), FallBack(), Skip(), ExchangeCarrots(10))]
    assert kinds == ["eatSalad", "fallBack", "skip", "exchangeCarrots"]


def test_a_skip_is_called_one() -> None:
    state = replace(run_of_hares()[4], last_move=HaseUndIgelMove((Skip(),)))
    assert describe_position(state, 4)["lastMove"]["kind"] == "SKIP"


def test_an_illegal_advance() -> None:
    state = run_of_hares()[0]
    illegal = describe_illegal_move(state, HaseUndIgelMove((Advance(60),)), "text of the release")
    assert illegal is not None
    assert illegal["words"] == HASE_WORDS[HaseUndIgelMistake.ADVANCE]
    assert (illegal["player"], illegal["color"]) == (0, "RED")
    assert describe_illegal_move(state, next(state.generate_legal_moves()), "") is None
    assert set(HaseUndIgelMistake) == set(HASE_WORDS)


def test_moves_in_an_impossible_position_are_not_counted() -> None:
    state = run_of_hares()[0]
    endless = replace(state, board=Board.from_letters("SC" + 4000 * "H"))
    rich = replace(state, players=(replace(state.players[0], carrots=2**31 - 1), state.players[1]))
    outside = replace(state, players=(replace(state.players[0], index=-(2**31)), state.players[1]))
    for position in (endless, rich, outside):
        assert describe_position(position, 0)["legalMoves"] is None
        assert describe_legal_moves(position, 0)["moves"] == []
        assert describe_illegal_move(position, HaseUndIgelMove((Advance(60),)), "") is None
