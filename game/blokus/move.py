"""Moves of Blokus and the rules they can break.

Law: a move is a value and says nothing about being legal; x and y are any integers, the upper left corner of the
piece's bounding box after turning.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from spielleiter.game.api import Mistake
from spielleiter.game.blokus.polyomino import Color, Rotation, Shape


@dataclass(frozen=True, slots=True)
class SetMove:
    """Lay a piece."""

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
    """Lay nothing this time. `color` None means the colour on turn, whichever that is."""

    color: Color | None = None

    def __str__(self) -> str:
        return "skip" if self.color is None else f"{self.color.name} skip"


class BlokusMistake(Mistake):
    """The broken rules, in the order in which the official server looks for them."""

    WRONG_COLOR = enum.auto()
    """The move's colour is not on turn."""
    WRONG_SHAPE = enum.auto()
    """A colour's first piece is not the start piece."""
    DUPLICATE_SHAPE = enum.auto()
    """The colour has placed this piece before."""
    OUT_OF_BOUNDS = enum.auto()
    """A cell of the piece is not on the board."""
    OBSTRUCTED = enum.auto()
    """A cell of the piece is taken, by whatever colour."""
    TOUCHES_SAME_COLOR = enum.auto()
    """A cell of the piece shares an edge with its own colour."""
    NOT_IN_CORNER = enum.auto()
    """A colour's first piece covers no corner cell of the board."""
    NOT_ON_BORDER = enum.auto()
    """A colour's first piece covers no border cell of the board."""
    NO_SHARED_CORNER = enum.auto()
    """No cell of the piece shares a corner with its own colour."""
    SKIP_FIRST_TURN = enum.auto()
    """A colour that has placed no piece yet may not skip."""
