"""The view of Blokus: the board as 400 letters, the pieces, the last move, and the cells of an illegal move."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from spielleiter.game.api import Seat
from spielleiter.game.blokus.moves import BlokusMistake, SetMove, SkipMove
from spielleiter.game.blokus.pieces import (
    SIZE,
    STRIDE,
    Color,
    Rotation,
    Shape,
    bit,
    edge_neighbors,
    orientation,
    scan,
)
from spielleiter.game.blokus.state import SEAT_OF_COLOR, BlokusState
from spielleiter.viewer.positions.view import Bilingual, Json, View, played_move

_COLORS: Final = tuple(Color)
_LETTERS: Final = tuple(color.name[0] for color in _COLORS)
_PIECES: Final = {
    shape.name: [list(cell) for cell in orientation(shape, Rotation.NONE, is_flipped=False).cells] for shape in Shape
}

_RULES: Final[Mapping[BlokusMistake, Bilingual]] = {
    BlokusMistake.WRONG_COLOR: ("Eine andere Farbe ist am Zug.", "It is another colour's turn."),
    BlokusMistake.WRONG_SHAPE: (
        "Der erste Zug einer Farbe muss den vorgegebenen Stein legen.",
        "The first move of a colour has to place the given piece.",
    ),
    BlokusMistake.DUPLICATE_SHAPE: (
        "Die Farbe hat diesen Stein schon gelegt.",
        "The colour has already placed this piece.",
    ),
    BlokusMistake.OUT_OF_BOUNDS: (
        "Der Stein liegt nicht ganz auf dem Spielfeld.",
        "The piece is not completely on the board.",
    ),
    BlokusMistake.OBSTRUCTED: (
        "Der Stein liegt auf Feldern, die schon belegt sind.",
        "The piece covers cells that are already covered.",
    ),
    BlokusMistake.TOUCHES_SAME_COLOR: (
        "Der Stein berührt einen Stein der eigenen Farbe an einer Kante.",
        "The piece touches a piece of its own colour along an edge.",
    ),
    BlokusMistake.NOT_IN_CORNER: (
        "Der erste Stein einer Farbe muss eine Ecke des Spielfelds bedecken.",
        "The first piece of a colour has to cover a corner of the board.",
    ),
    BlokusMistake.NOT_ON_BORDER: (
        "Der erste Stein einer Farbe muss am Rand des Spielfelds liegen.",
        "The first piece of a colour has to lie on the border of the board.",
    ),
    BlokusMistake.NO_SHARED_CORNER: (
        "Der Stein berührt keinen Stein der eigenen Farbe an einer Ecke.",
        "The piece touches no piece of its own colour at a corner.",
    ),
    BlokusMistake.SKIP_FIRST_TURN: (
        "Eine Farbe darf erst aussetzen, wenn sie ihren ersten Stein gelegt hat.",
        "A colour may skip only after it has placed its first piece.",
    ),
}

_ENDS: Final[Mapping[str | None, Bilingual]] = {None: ("Niemand kann mehr legen", "nobody can place any more")}


class BlokusView(View):
    """The view of positions of the type BlokusState."""

    name = "blokus"
    rule_texts = _RULES
    end_texts = _ENDS

    def color(self, state: BlokusState, _seat: Seat) -> str | None:
        return state.color_on_turn.name

    def parts(self, state: BlokusState) -> Json:
        return {
            "fields": {"turn": state.turn, "round": state.round, "startPiece": state.start_shape.name},
            "board": {"width": SIZE, "height": SIZE, "cells": _letters(state)},
            "colors": [
                {
                    "name": color.name,
                    "player": SEAT_OF_COLOR[color],
                    "isInGame": bool(state.valid_mask >> color & 1),
                    "remaining": [shape.name for shape in state.remaining_shapes(color)],
                    "points": state.points_of(color),
                }
                for color in _COLORS
            ],
            "startPiece": state.start_shape.name,
        }

    def player(self, _state: BlokusState, _seat: Seat) -> Json:
        return {"fields": {}}

    def picture(self, state: BlokusState) -> Json:
        return {"width": SIZE, "cells": _letters(state)}

    def count_moves(self, state: BlokusState) -> list[int]:
        counts = [0, 0]
        for color in _COLORS:
            counts[SEAT_OF_COLOR[color]] += state.count_placements(color)
        return counts

    def last_move(self, state: BlokusState, previous: BlokusState | None) -> Json | None:
        before, move = None if previous is None else previous, state.last_move
        if isinstance(move, SetMove):
            return _placement(move.color, move.shape.name, _covered(move), str(move))
        if move is not None:
            skipping = before.color_on_turn if move.color is None and before is not None else move.color
            seat = None if skipping is None else SEAT_OF_COLOR[skipping]
            return played_move(seat, None if skipping is None else skipping.name, move, kind="SKIP")
        if before is None:
            return None
        # a season that does not write the move down: it is the difference between both positions
        for color in _COLORS:
            new = state.cells[color] & ~before.cells[color]
            if new:
                placed = before.remaining_masks[color] & ~state.remaining_masks[color]
                piece = next((Shape(index).name for index in scan(placed)), None)
                cells = [[index % STRIDE, index // STRIDE] for index in scan(new)]
                return _placement(color, piece, cells, f"{color.name} {piece or ''}".rstrip())
        return None

    def move(self, _state: BlokusState, move: SetMove) -> Json:  # a skip is never among the generated moves
        return {
            "piece": move.shape.name,
            "rotation": move.rotation.name,
            "isFlipped": move.is_flipped,
            "x": move.x,
            "y": move.y,
            "cells": _covered(move),
        }

    def skip_move(self, state: BlokusState) -> SkipMove | None:
        skip = SkipMove(state.color_on_turn)
        return skip if state.check(skip) is None else None

    def pieces(self) -> Mapping[str, list[list[int]]]:
        return _PIECES

    def illegal_cells(self, state: BlokusState, move: SetMove | SkipMove, mistake: BlokusMistake) -> Json:
        if not isinstance(move, SetMove):
            return {}
        cells = _covered(move)  # which may lie outside the board
        offending = [cell for cell in cells if _offends(state, mistake, cell)]
        return {"piece": move.shape.name, "cells": cells, "offendingCells": offending}


VIEW: Final = BlokusView()


def _letters(position: BlokusState) -> str:
    """Return a dot or the first letter of a colour for each cell, row by row."""
    letters = ["."] * (SIZE * STRIDE)
    for letter, covered in zip(_LETTERS, position.cells, strict=True):
        for index in scan(covered):
            letters[index] = letter
    return "".join(letters[y * STRIDE + x] for y in range(SIZE) for x in range(SIZE))


def _covered(move: SetMove) -> list[list[int]]:
    turned = orientation(move.shape, move.rotation, move.is_flipped)
    return [[move.x + x, move.y + y] for x, y in turned.cells]


def _placement(color: Color, piece: str | None, cells: list[list[int]], text: str) -> Json:
    return {**played_move(SEAT_OF_COLOR[color], color.name, text, kind="SET", cells=cells), "piece": piece}


def _offends(state: BlokusState, mistake: BlokusMistake, cell: list[int]) -> bool:
    """Return whether this cell of a piece is one of those that break the rule; if none is alone to blame, all are."""
    x, y = cell
    is_on_board = 0 <= x < SIZE and 0 <= y < SIZE
    match mistake:
        case BlokusMistake.OUT_OF_BOUNDS:
            return not is_on_board
        case BlokusMistake.OBSTRUCTED:
            return is_on_board and state.color_at(x, y) is not None
        case BlokusMistake.TOUCHES_SAME_COLOR:
            own = state.cells[state.color_on_turn]
            return is_on_board and bool(bit(x, y) & edge_neighbors(own))
        case _:
            return True
