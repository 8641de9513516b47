"""The view of Blokus: every part of a position against the position itself, and the pictures of illegal moves."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from functools import cache

import pytest

from spielleiter.game.blokus import BLOKUS_2021, BLOKUS_2027, BlokusState, SetMove, SkipMove
from spielleiter.game.blokus.moves import BlokusMistake
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.viewer.positions.blokus import _WORDS
from spielleiter.viewer.positions.describe import (
    describe_illegal_move,
    describe_legal_moves,
    describe_position,
    skip_move,
)

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
    assert describe_position(state, 6, counts_moves=False)["legalMoves"] is None


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
    assert illegal["words"] == _WORDS[mistake]
    assert illegal["rule"] == _WORDS[mistake]["en"]


def test_first_pieces_in_the_wrong_place_and_a_skip_too_early() -> None:
    state = START.new_state(random.Random(0))
    illegal = describe_illegal_move(state, mono(8, 8, Shape.PENTO_I), "")
    assert illegal is not None
    assert illegal["words"] == _WORDS[BlokusMistake.NOT_IN_CORNER]
    assert len(illegal["offendingCells"]) == 5
    skipped = describe_illegal_move(state, SkipMove(), "")
    assert skipped is not None
    assert (skipped["piece"], skipped["cells"]) == (None, [])


def test_every_rule_has_a_sentence_in_both_languages() -> None:
    for mistake in BlokusMistake:
        assert set(_WORDS[mistake]) == {"de", "en"}
        assert all(text.endswith(".") for text in _WORDS[mistake].values())


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
