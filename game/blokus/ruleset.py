"""The rules of Blokus that differ between seasons.

Invariants: the rules never ask which season is played. Every difference between seasons is a field of `Ruleset`.
"""

from __future__ import annotations

from dataclasses import dataclass

from spielleiter.game.blokus.bitboard import Bitboard
from spielleiter.game.blokus.move import BlokusMistake
from spielleiter.game.blokus.polyomino import Shape


@dataclass(frozen=True, slots=True)
class Ruleset:
    """The rules of one season, as far as they differ between seasons."""

    name: str
    start_shapes: tuple[Shape, ...]
    """The candidates for the start piece; one of them is drawn to be the first piece of every colour."""
    first_piece_mask: Bitboard
    """The cells of which a colour's first piece must cover at least one."""
    first_piece_mistake: BlokusMistake
    """The mistake reported for a first piece that covers none of them."""
    round_limit: int
    """The number of rounds, of four turns each, after which the game is over."""
    ends_with_finished_color: bool
    """Whether the game ends with the round in which a colour places its last piece. If not, the others play on."""
