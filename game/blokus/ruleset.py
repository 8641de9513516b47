"""The fields in which the editions of Blokus differ.

Invariants: nothing in the rules asks which edition is played; every difference is a field of `Ruleset`.
"""

from __future__ import annotations

from dataclasses import dataclass

from spielleiter.game.blokus.bitboard import Bitboard
from spielleiter.game.blokus.move import BlokusMistake
from spielleiter.game.blokus.polyomino import Shape


@dataclass(frozen=True, slots=True)
class Ruleset:
    """One edition's rules, as far as editions differ."""

    name: str
    start_shapes: tuple[Shape, ...]
    """The pieces one of which is drawn to be everybody's first."""
    first_piece_mask: Bitboard
    """A colour's first piece covers at least one of these cells,"""
    first_piece_mistake: BlokusMistake
    """or this is what it did wrong."""
    round_limit: int
    """Rounds of four turns after which the game is over."""
    ends_with_finished_color: bool
    """Over at the end of the round in which a colour has placed its last piece; else the others play on."""
