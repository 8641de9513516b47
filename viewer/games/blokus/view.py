"""The view of Blokus: the board as 400 letters, the pieces, the last move, and the cells of an illegal move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from spielleiter.game.api import Mistake, Move, Outcome, Seat, State
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
from spielleiter.viewer.positions.view import Json, View, Words

_COLORS: Final = tuple(Color)
_LETTERS: Final = tuple(color.name[0] for color in _COLORS)
_PIECES: Final = {
    shape.name: [list(cell) for cell in orientation(shape, Rotation.NONE, is_flipped=False).cells] for shape in Shape
}

RULE_WORDS: Final[Mapping[BlokusMistake, Words]] = {
    BlokusMistake.WRONG_COLOR: {"de": "Eine andere Farbe ist am Zug.", "en": "It is another colour's turn."},
    BlokusMistake.WRONG_SHAPE: {
        "de": "Der erste Zug einer Farbe muss den vorgegebenen Stein legen.",
        "en": "The first move of a colour has to place the given piece.",
    },
    BlokusMistake.DUPLICATE_SHAPE: {
        "de": "Die Farbe hat diesen Stein schon gelegt.",
        "en": "The colour has already placed this piece.",
    },
    BlokusMistake.OUT_OF_BOUNDS: {
        "de": "Der Stein liegt nicht ganz auf dem Spielfeld.",
        "en": "The piece is not completely on the board.",
    },
    BlokusMistake.OBSTRUCTED: {
        "de": "Der Stein liegt auf Feldern, die schon belegt sind.",
        "en": "The piece covers cells that are already covered.",
    },
    BlokusMistake.TOUCHES_SAME_COLOR: {
        "de": "Der Stein berührt einen Stein der eigenen Farbe an einer Kante.",
        "en": "The piece touches a piece of its own colour along an edge.",
    },
    BlokusMistake.NOT_IN_CORNER: {
        "de": "Der erste Stein einer Farbe muss eine Ecke des Spielfelds bedecken.",
        "en": "The first piece of a colour has to cover a corner of the board.",
    },
    BlokusMistake.NOT_ON_BORDER: {
        "de": "Der erste Stein einer Farbe muss am Rand des Spielfelds liegen.",
        "en": "The first piece of a colour has to lie on the border of the board.",
    },
    BlokusMistake.NO_SHARED_CORNER: {
        "de": "Der Stein berührt keinen Stein der eigenen Farbe an einer Ecke.",
        "en": "The piece touches no piece of its own colour at a corner.",
    },
    BlokusMistake.SKIP_FIRST_TURN: {
        "de": "Eine Farbe darf erst aussetzen, wenn sie ihren ersten Stein gelegt hat.",
        "en": "A colour may skip only after it has placed its first piece.",
    },
}


@dataclass(frozen=True, slots=True)
class BlokusView(View):
    """The view of positions of the type BlokusState."""

    name: str = "blokus"

    def color(self, state: State, _seat: Seat) -> str | None:
        return _own(state).color_on_turn.name

    def parts(self, state: State) -> Json:
        position = _own(state)
        return {
            "fields": {"turn": position.turn, "round": position.round, "startPiece": position.start_shape.name},
            "board": {"width": SIZE, "height": SIZE, "cells": _letters(position)},
            "colors": [
                {
                    "name": color.name,
                    "player": SEAT_OF_COLOR[color],
                    "isInGame": bool(position.valid_mask >> color & 1),
                    "remaining": [shape.name for shape in position.remaining_shapes(color)],
                    "points": position.points_of(color),
                }
                for color in _COLORS
            ],
            "startPiece": position.start_shape.name,
        }

    def player(self, _state: State, _seat: Seat) -> Json:
        return {"fields": {}}

    def picture(self, state: State) -> Json:
        return {"width": SIZE, "cells": _letters(_own(state))}

    def count_moves(self, state: State) -> list[int]:
        position = _own(state)
        counts = [0, 0]
        for color in _COLORS:
            counts[SEAT_OF_COLOR[color]] += position.count_placements(color)
        return counts

    def last_move(self, state: State, previous: State | None) -> Json | None:
        position = _own(state)
        before, move = None if previous is None else _own(previous), position.last_move
        if isinstance(move, SetMove):
            return _placement(move.color, move.shape.name, _covered(move), str(move))
        if move is not None:
            skipping = before.color_on_turn if move.color is None and before is not None else move.color
            return {
                "player": None if skipping is None else SEAT_OF_COLOR[skipping],
                "color": None if skipping is None else skipping.name,
                "kind": "SKIP",
                "piece": None,
                "cells": [],
                "text": str(move),
            }
        if before is None:
            return None
        # a season that does not write the move down: it is the difference between both positions
        for color in _COLORS:
            new = position.cells[color] & ~before.cells[color]
            if new:
                placed = before.remaining_masks[color] & ~position.remaining_masks[color]
                piece = next((Shape(index).name for index in scan(placed)), None)
                cells = [[index % STRIDE, index // STRIDE] for index in scan(new)]
                return _placement(color, piece, cells, f"{color.name} {piece or ''}".rstrip())
        return None

    def move(self, _state: State, move: Move) -> Json:
        assert isinstance(move, SetMove)  # a skip is never among the generated moves
        return {
            "piece": move.shape.name,
            "rotation": move.rotation.name,
            "isFlipped": move.is_flipped,
            "x": move.x,
            "y": move.y,
            "cells": _covered(move),
        }

    def skip_move(self, state: State) -> Move | None:
        skip = SkipMove(_own(state).color_on_turn)
        return skip if state.check(skip) is None else None

    def pieces(self) -> Mapping[str, list[list[int]]]:
        return _PIECES

    def end_words(self, _outcome: Outcome) -> Words:
        return {"de": "Niemand kann mehr legen", "en": "nobody can place any more"}

    def rule_words(self, mistake: Mistake) -> Words:
        assert isinstance(mistake, BlokusMistake)
        return RULE_WORDS[mistake]

    def illegal_cells(self, state: State, move: Move, mistake: Mistake) -> Json:
        if not isinstance(move, SetMove):
            return {}
        cells = _covered(move)  # which may lie outside the board
        offending = [cell for cell in cells if _offends(_own(state), mistake, cell)]
        return {"piece": move.shape.name, "cells": cells, "offendingCells": offending}


VIEW: Final = BlokusView()


def _own(state: State) -> BlokusState:
    assert isinstance(state, BlokusState)
    return state


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
    return {
        "player": SEAT_OF_COLOR[color],
        "color": color.name,
        "kind": "SET",
        "piece": piece,
        "cells": cells,
        "text": text,
    }


def _offends(state: BlokusState, mistake: Mistake, cell: list[int]) -> bool:
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
