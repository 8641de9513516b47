"""Moves of Blokus, and the rules that they can break.

Invariants: a move is a value, legal or not. Its x and y may be any integers.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from spielleiter.game.api import Mistake
from spielleiter.game.blokus.polyomino import Color, Rotation, Shape


@dataclass(frozen=True, slots=True)
class SetMove:
    """Place a piece on the board.

    `rotation` and `is_flipped` say how the piece is turned before it is placed: rotated first, then flipped. `x` and
    `y` are the cell of the upper left corner of its bounding box after that, counted from the upper left corner of the
    board.

    >>> print(SetMove(Color.BLUE, Shape.PENTO_L, Rotation.RIGHT, is_flipped=True, x=3, y=4))
    BLUE PENTO_L RIGHT flipped at (3, 4)
    """

    color: Color
    shape: Shape
    rotation: Rotation
    is_flipped: bool
    x: int
    y: int

    def __str__(self) -> str:
        turned = "" if self.rotation is Rotation.NONE else f" {self.rotation.name}"
        flipped = " flipped" if self.is_flipped else ""
        return f"{self.color.name} {self.shape.name}{turned}{flipped} at ({self.x}, {self.y})"


@dataclass(frozen=True, slots=True)
class SkipMove:
    """Place nothing this turn. If `color` is None, the move is for whichever colour is on turn.

    >>> print(SkipMove(Color.RED))
    RED skip
    """

    color: Color | None = None

    def __str__(self) -> str:
        return "skip" if self.color is None else f"{self.color.name} skip"


@dataclass(frozen=True, slots=True)
class IncompletePiece:
    """A piece of which the colour or the shape may be missing (None). The other fields are those of `SetMove`."""

    color: Color | None
    shape: Shape | None
    rotation: Rotation
    is_flipped: bool
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class IncompleteMove:
    """A move that lacks a part without which it is never legal, as some editions let players send it.

    `piece` is None if the whole piece is missing, and for a skip, which lacks its colour.

    >>> print(IncompleteMove(is_skip=True))
    incomplete skip
    """

    piece: IncompletePiece | None = None
    is_skip: bool = False

    def __str__(self) -> str:
        return "incomplete skip" if self.is_skip else "incomplete placement"


class BlokusMistake(Mistake):
    """The rules that a move can break, in the order in which the official server checks them."""

    WRONG_COLOR = enum.auto()
    """The move's colour is not on turn."""
    WRONG_SHAPE = enum.auto()
    """A colour's first piece is not the start piece."""
    DUPLICATE_SHAPE = enum.auto()
    """The colour has already placed this piece."""
    OUT_OF_BOUNDS = enum.auto()
    """A cell of the piece is not on the board."""
    OBSTRUCTED = enum.auto()
    """A cell of the piece is already covered, by any colour."""
    TOUCHES_SAME_COLOR = enum.auto()
    """A cell of the piece shares an edge with a cell of its own colour."""
    NOT_IN_CORNER = enum.auto()
    """A colour's first piece covers no corner cell of the board."""
    NOT_ON_BORDER = enum.auto()
    """A colour's first piece covers no border cell of the board."""
    NO_SHARED_CORNER = enum.auto()
    """No cell of the piece shares a corner with a cell of its own colour."""
    SKIP_FIRST_TURN = enum.auto()
    """A colour skips before it has placed its first piece."""
