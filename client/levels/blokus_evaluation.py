"""The static evaluation of Blokus for the levels: which colour can still reach how much of the board.

Invariants: a value is in points, seen from the side that has just moved. It counts the cells of the piece, and the
cells that each colour can reach, which stand for the points still to come. A colour's reach is its attach cells, and
its near and far cells: the free cells within one and two steps of an attach cell, steps being those of a king in chess.
When moves are rated, the cells that a piece takes from the other colours are counted, but not those that it cuts off.
All weights are the same for all colours and all phases of a game; fitting them to games of the levels did not make
these stronger.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Final, NamedTuple

from spielleiter.client.levels.blokus_placements import placements_of
from spielleiter.game.blokus.moves import SetMove, attach_cells, free_cells, generate_placements
from spielleiter.game.blokus.pieces import ALL_SHAPES_MASK, EMPTY, SIZE, SIZES, STRIDE, Bitboard, Orientation, scan
from spielleiter.game.blokus.state import SEAT_OF_COLOR, BlokusState

CELL: Final = 2.0
"""The value of a cell of the piece; twice a point, since a large piece is harder to place later."""
_ATTACH: Final = 0.3
_NEAR: Final = 0.05
_FAR: Final = 0.1
_EXCLUSIVE: Final = 0.05
"""The value of a far cell that no colour of the other side can reach."""

_SHAPES_BY_SIZE: Final = tuple(
    sum(1 << shape for shape, cells in enumerate(SIZES) if cells == size) for size in range(max(SIZES), 0, -1)
)
"""The shapes of each size, the largest size first."""
_SAMPLE_EXCESS: Final = 1.4
"""A sample may be this much larger than wanted; about the root of two, since larger ones are halved."""
_BITS: Final = SIZE * STRIDE
"""The number of bits of a bitboard."""


class Reach(NamedTuple):
    """What a colour can reach."""

    free: Bitboard
    """The cells that it may cover."""
    attach: Bitboard
    """The cells of which its next piece must cover one."""
    near: Bitboard
    """The free cells within one step of an attach cell, these included."""
    far: Bitboard
    """The free cells within two steps, the near ones included."""

    @property
    def value(self) -> float:
        """The value for the colour's side, without that of exclusive cells."""
        return _ATTACH * self.attach.bit_count() + _NEAR * self.near.bit_count() + _FAR * self.far.bit_count()


_NO_REACH: Final = Reach(EMPTY, EMPTY, EMPTY, EMPTY)


class RatedMove(NamedTuple):
    """A legal placement with its value."""

    value: float
    turned: Orientation
    corner: int
    """The index of the upper left corner of its bounding box."""

    @property
    def piece_value(self) -> float:
        """The part of the value that the cells of the piece account for."""
        return CELL * SIZES[self.turned.shape]

    def set_move(self, state: BlokusState) -> SetMove:
        """Return the move in the form of the rules; `state` is the position in which it was rated."""
        turned = self.turned
        y, x = divmod(self.corner, STRIDE)
        return SetMove(state.color_on_turn, turned.shape, turned.rotation, turned.is_flipped, x, y)


def reach_from(free: Bitboard, attach: Bitboard) -> Reach:
    """Return the reach of a colour with these free and attach cells."""
    row = attach | attach << 1 | attach >> 1
    near = (row | row << STRIDE | row >> STRIDE) & free
    row = near | near << 1 | near >> 1
    return Reach(free, attach, near, (row | row << STRIDE | row >> STRIDE) & free)


def reach_of(state: BlokusState, color: int) -> Reach:
    """Return the reach of `color`; nothing for a colour that has left the game or placed all of its pieces."""
    if not state.valid_mask >> color & 1 or not state.remaining_masks[color]:
        return _NO_REACH
    blue, yellow, red, green = state.cells
    own = state.cells[color]
    free = free_cells(own, blue | yellow | red | green)
    is_first = state.remaining_masks[color] == ALL_SHAPES_MASK
    return reach_from(free, state.rules.first_piece_mask & free if is_first else attach_cells(own, free))


def position_value(state: BlokusState, seat: int) -> float:
    """Return what the reach of all colours is worth for `seat`."""
    reaches = [reach_of(state, color) for color in range(4)]
    sides = [
        [reach for color, reach in enumerate(reaches) if SEAT_OF_COLOR[color] == side] for side in (seat, 1 - seat)
    ]
    (ours, our_partner), (theirs, their_partner) = sides
    our_far, their_far = ours.far | our_partner.far, theirs.far | their_partner.far
    exclusive = (our_far & ~their_far).bit_count() - (their_far & ~our_far).bit_count()
    return ours.value + our_partner.value - theirs.value - their_partner.value + _EXCLUSIVE * exclusive


def rate_moves(state: BlokusState) -> list[RatedMove]:
    """Return all legal moves with their values, in the order of the legal moves."""
    outlook = _outlook_of(state)
    return _rated(outlook, outlook.placements(outlook.shapes))


class Sample(NamedTuple):
    """Some of the legal moves. `is_complete` says that none of the largest pieces' moves was left out."""

    moves: list[RatedMove]
    is_complete: bool


def sample_moves(state: BlokusState, count: int, rng: random.Random) -> Sample:
    """Return about `count` moves with the largest pieces that can be placed, chosen at random, or all if they are few.

    `state` is a position with a legal move, and `count` is at least 1. Playing the best of all moves with the largest
    pieces is about as good as playing the best of all moves.
    """
    outlook = _outlook_of(state)
    placements = next(filter(None, (outlook.placements(outlook.shapes & mask) for mask in _SHAPES_BY_SIZE)))
    is_complete = True
    while sum(corners.bit_count() for _, corners in placements) > _SAMPLE_EXCESS * count:
        # a random half of the moves
        thinned = [(turned, corners & rng.getrandbits(_BITS)) for turned, corners in placements]
        placements = [each for each in thinned if each[1]] or placements[:1]
        is_complete = False
    return Sample(_rated(outlook, placements), is_complete)


class _Outlook(NamedTuple):
    """What the colour to move sees: the reach of all colours, its attach cells and the shapes that it may place.

    `is_last_piece` says that it has no other piece than the one that it may place.
    """

    own: Reach
    following: Reach
    partner: Reach
    last: Reach
    attach: Bitboard
    shapes: int
    is_last_piece: bool

    def placements(self, shapes: int) -> list[tuple[Orientation, Bitboard]]:
        """Return the legal placements of `shapes`, a set of bits: the corners of each orientation."""
        return list(generate_placements(self.own.free, self.own.attach, shapes)) if shapes else []


def _outlook_of(state: BlokusState) -> _Outlook:
    color = state.turn % 4
    own, following, partner, last = (reach_of(state, (color + turns) % 4) for turns in range(4))
    remaining = state.remaining_masks[color]
    if remaining == ALL_SHAPES_MASK:
        return _Outlook(own, following, partner, last, EMPTY, 1 << state.start_shape, is_last_piece=False)
    is_last_piece = remaining.bit_count() == 1
    return _Outlook(own, following, partner, last, own.attach, remaining, is_last_piece)


def _rated(outlook: _Outlook, placements: Iterable[tuple[Orientation, Bitboard]]) -> list[RatedMove]:
    own, following, partner, last, attach_before, _, is_last_piece = outlook
    others = partner.value - following.value - last.value
    # local names, since the loop runs for every move
    partner_far, theirs = partner.far, following.far | last.far
    own_free = EMPTY if is_last_piece else own.free  # after its last piece a colour reaches nothing
    _, partner_attach, partner_near, _ = partner
    _, following_attach, following_near, following_far = following
    _, last_attach, last_near, last_far = last
    rated = []
    for turned, corners in placements:
        table = placements_of(turned)
        base = others + CELL * SIZES[turned.shape]
        for corner in scan(corners):
            piece, keep, touched_corners = table[corner]
            free = own_free & keep
            attach = (attach_before | touched_corners) & free
            row = attach | attach << 1 | attach >> 1
            near = (row | row << STRIDE | row >> STRIDE) & free
            row = near | near << 1 | near >> 1
            far = (row | row << STRIDE | row >> STRIDE) & free
            ours = far | partner_far
            attach_count = attach.bit_count() - (partner_attach & piece).bit_count()
            attach_count += (following_attach & piece).bit_count() + (last_attach & piece).bit_count()
            near_count = near.bit_count() - (partner_near & piece).bit_count()
            near_count += (following_near & piece).bit_count() + (last_near & piece).bit_count()
            far_count = far.bit_count() - (partner_far & piece).bit_count()
            far_count += (following_far & piece).bit_count() + (last_far & piece).bit_count()
            exclusive = (ours & ~(theirs | piece)).bit_count() - (theirs & ~(ours | piece)).bit_count()
            value = base + _ATTACH * attach_count + _NEAR * near_count + _FAR * far_count + _EXCLUSIVE * exclusive
            rated.append(RatedMove(value, turned, corner))
    return rated
