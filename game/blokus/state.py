"""A position of Blokus, and what a move makes of it.

Law: a position is a value. Turn t belongs to the colour t mod 4. After every move the turn passes to the next colour
still in the game; as long as that colour has no legal placement, it leaves the game for good and the turn passes on.
When the last colour leaves, `turn` stays where it is. Only after that the limit of rounds is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from spielleiter.game.api import IllegalMoveError, Move, Outcome, Seat
from spielleiter.game.blokus.bitboard import EMPTY, SIZE, STRIDE, Bitboard, bit, scan
from spielleiter.game.blokus.move import BlokusMistake, SetMove, SkipMove
from spielleiter.game.blokus.movegen import attach_cells, find_fault, free_cells, generate_placements, has_placement
from spielleiter.game.blokus.polyomino import ALL_SHAPES_MASK, SIZES, Color, Shape, orientation
from spielleiter.game.blokus.ruleset import Ruleset

SEAT_OF_COLOR: Final[tuple[Seat, Seat, Seat, Seat]] = (0, 1, 0, 1)
"""Seat 0 owns BLUE and RED, seat 1 YELLOW and GREEN."""

_T = TypeVar("_T")
_Cells: TypeAlias = tuple[Bitboard, Bitboard, Bitboard, Bitboard]
_Masks: TypeAlias = tuple[int, int, int, int]
_MonoLast: TypeAlias = tuple[bool | None, bool | None, bool | None, bool | None]

_COLORS: Final = tuple(Color)
_ALL_COLORS_MASK: Final = (1 << len(_COLORS)) - 1
_ALL_LAID_BONUS: Final = 15
_MONO_LAST_BONUS: Final = 5


@dataclass(frozen=True, slots=True)
class BlokusState:
    """A position; satisfies `spielleiter.game.api.State`. The defaults are those of the empty board."""

    rules: Ruleset
    start_shape: Shape
    """The piece that every colour has to lay first."""
    turn: int = 0
    cells: _Cells = (EMPTY, EMPTY, EMPTY, EMPTY)
    """By colour: the cells it has covered."""
    remaining_masks: _Masks = (ALL_SHAPES_MASK, ALL_SHAPES_MASK, ALL_SHAPES_MASK, ALL_SHAPES_MASK)
    """By colour: bit i is set while Shape(i) is still to be placed."""
    valid_mask: int = _ALL_COLORS_MASK
    """Bit c is set while Color(c) is in the game."""
    last_move: SetMove | SkipMove | None = None
    """None before the first move; a SkipMove always with its colour."""
    mono_last: _MonoLast = (None, None, None, None)
    """By colour: None until it has placed all its pieces, then whether MONO was the last one."""

    @property
    def round(self) -> int:
        """From 1; four turns each, those of colours out of the game included."""
        return 1 + self.turn // 4

    @property
    def color_on_turn(self) -> Color:
        """Whose move is awaited; of no meaning once the game is over."""
        return _COLORS[self.turn % 4]

    @property
    def seat_on_turn(self) -> Seat:
        """The owner of the colour on turn."""
        return SEAT_OF_COLOR[self.turn % 4]

    @property
    def valid_colors(self) -> tuple[Color, ...]:
        """The colours still in the game, in the order of their turns."""
        return tuple(color for color in _COLORS if self.valid_mask >> color & 1)

    def remaining_shapes(self, color: Color) -> tuple[Shape, ...]:
        """The pieces that `color` has still to lay, in the order of `Shape`."""
        return tuple(Shape(index) for index in scan(self.remaining_masks[color]))

    def color_at(self, x: int, y: int) -> Color | None:
        """Who has covered the cell (x, y), both 0..19."""
        cell = bit(x, y)
        return next((color for color in _COLORS if self.cells[color] & cell), None)

    def check(self, move: Move) -> BlokusMistake | None:
        """The first rule that `move` breaks, in the order of the official server, or None if it is legal.

        Whether the game is over is not looked at. Raises TypeError for a move of another game.
        """
        color = self.turn % 4
        remaining = self.remaining_masks[color]
        is_first = remaining == ALL_SHAPES_MASK
        if isinstance(move, SkipMove):
            if move.color is not None and move.color != color:
                return BlokusMistake.WRONG_COLOR
            return BlokusMistake.SKIP_FIRST_TURN if is_first else None
        if not isinstance(move, SetMove):
            raise TypeError(f"not a move of Blokus: {move!r}")
        if move.color != color:
            return BlokusMistake.WRONG_COLOR
        if is_first and move.shape != self.start_shape:
            return BlokusMistake.WRONG_SHAPE
        if not remaining >> move.shape & 1:
            return BlokusMistake.DUPLICATE_SHAPE
        free, attach, _ = self._openings(color, self.cells, self.remaining_masks)
        turned = orientation(move.shape, move.rotation, move.is_flipped)
        if 0 <= move.x <= SIZE - turned.width and 0 <= move.y <= SIZE - turned.height:
            piece = turned.mask << (move.y * STRIDE + move.x)
            if piece & free == piece:
                if piece & attach:
                    return None
                return self.rules.first_piece_mistake if is_first else BlokusMistake.NO_SHARED_CORNER
        blue, yellow, red, green = self.cells
        return find_fault(turned, move.x, move.y, free, blue | yellow | red | green)

    def play(self, move: Move) -> BlokusState:
        """The position after `move`. Raises IllegalMoveError; TypeError for a move of another game."""
        mistake = self.check(move)
        if mistake is not None:
            raise IllegalMoveError(mistake, move)
        color = self.color_on_turn
        if not isinstance(move, SetMove):
            return self._pass_on(SkipMove(color), self.cells, self.remaining_masks, self.mono_last)
        piece = orientation(move.shape, move.rotation, move.is_flipped).mask << (move.y * STRIDE + move.x)
        remaining = self.remaining_masks[color] ^ 1 << move.shape
        return self._pass_on(
            move,
            _with(self.cells, color, self.cells[color] | piece),
            _with(self.remaining_masks, color, remaining),
            self.mono_last if remaining else _with(self.mono_last, color, move.shape == Shape.MONO),
        )

    def has_legal_move(self) -> bool:
        """Whether the colour on turn can lay a piece; stops at the first place found."""
        return has_placement(*self._openings(self.turn % 4, self.cells, self.remaining_masks))

    def generate_legal_moves(self) -> Iterator[SetMove]:
        """Every placement of the colour on turn, each once under its canonical combination; skips are not among them.

        Whether the game is over is not looked at.
        """
        color = self.color_on_turn
        for turned, corners in generate_placements(*self._openings(color, self.cells, self.remaining_masks)):
            shape, rotation, is_flipped = turned.shape, turned.rotation, turned.is_flipped
            for index in scan(corners):
                y, x = divmod(index, STRIDE)
                yield SetMove(color, shape, rotation, is_flipped, x, y)

    def count_legal_moves(self) -> int:
        """How many moves `generate_legal_moves` gives, without making them."""
        openings = self._openings(self.turn % 4, self.cells, self.remaining_masks)
        return sum(corners.bit_count() for _, corners in generate_placements(*openings))

    def outcome(self) -> Outcome | None:
        """None while the game goes on, then the seat with more points."""
        if self.valid_mask and self.turn < 4 * self.rules.round_limit and not self._is_ended_by_finished_color():
            return None
        difference = self.points(0)[0] - self.points(1)[0]
        return Outcome(None if difference == 0 else 0 if difference > 0 else 1, "points")

    def points(self, seat: Seat) -> tuple[int, ...]:
        """One part: cells covered by both colours of the seat, and 15 or 20 for each that has placed all its pieces."""
        return (sum(self._points_of(color) for color in _COLORS if SEAT_OF_COLOR[color] == seat),)

    def _points_of(self, color: Color) -> int:
        remaining = self.remaining_masks[color]
        if remaining:
            return sum(SIZES) - sum(SIZES[index] for index in scan(remaining))
        return sum(SIZES) + _ALL_LAID_BONUS + (_MONO_LAST_BONUS if self.mono_last[color] else 0)

    def _is_ended_by_finished_color(self) -> bool:
        """Whether the round is over in which a colour has placed its last piece.

        A finished colour leaves when its next turn comes, so while it is still in the game, the turn is one of the
        three after its last piece; those of them that belong to a later colour are in the same round.
        """
        return self.rules.ends_with_finished_color and any(
            not self.remaining_masks[color] and not (self.valid_mask >> color & 1 and self.turn % 4 > color)
            for color in _COLORS
        )

    def _openings(self, color: int, cells: _Cells, remaining_masks: _Masks) -> tuple[Bitboard, Bitboard, int]:
        """The arguments of movegen's functions: free cells, attach cells and pieces of `color`."""
        blue, yellow, red, green = cells
        own, remaining = cells[color], remaining_masks[color]
        free = free_cells(own, blue | yellow | red | green)
        if remaining == ALL_SHAPES_MASK:
            return free, self.rules.first_piece_mask & free, 1 << self.start_shape
        return free, attach_cells(own, free), remaining

    def _pass_on(
        self, move: SetMove | SkipMove, cells: _Cells, remaining_masks: _Masks, mono_last: _MonoLast
    ) -> BlokusState:
        """The position with these parts in which the next colour with a legal placement is on turn."""
        turn, valid_mask = self.turn, self.valid_mask
        while valid_mask:
            turn += 1
            color = turn % 4
            if valid_mask >> color & 1:
                if has_placement(*self._openings(color, cells, remaining_masks)):
                    break
                valid_mask ^= 1 << color
        return BlokusState(
            self.rules, self.start_shape, turn, cells, remaining_masks, valid_mask, last_move=move, mono_last=mono_last
        )


def _with(values: tuple[_T, _T, _T, _T], color: Color, value: _T) -> tuple[_T, _T, _T, _T]:
    changed = list(values)
    changed[color] = value
    blue, yellow, red, green = changed
    return blue, yellow, red, green
