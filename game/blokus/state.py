"""The rules of the seasons of Blokus, the positions, and the games made of them.

Invariants: the rules never ask which season is played; every difference between seasons is a field of `Ruleset`. Turn t
belongs to the colour t mod 4. After every move the turn passes to the next colour that is still in the game. If that
colour has no legal placement, it leaves the game permanently, and the turn passes on again. When the last colour
leaves, `turn` keeps its value. The round limit is checked only after that.
"""

from __future__ import annotations

import itertools
import random
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from spielleiter.game.api import (
    GameError,
    GameOptionError,
    GameOverError,
    IllegalMoveError,
    IncompleteMoveError,
    Move,
    Outcome,
    Seat,
    State,
)
from spielleiter.game.blokus.moves import (
    BlokusMistake,
    IncompleteMove,
    SetMove,
    SkipMove,
    attach_cells,
    find_fault,
    free_cells,
    generate_placements,
    has_placement,
)
from spielleiter.game.blokus.pieces import (
    ALL_SHAPES_MASK,
    BORDER,
    CORNERS,
    EMPTY,
    PENTOMINOES,
    SIZE,
    SIZES,
    STRIDE,
    Bitboard,
    Color,
    Shape,
    bit,
    orientation,
    scan,
)


class Ruleset(Struct, frozen=True):
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

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle what may differ from the season's rules only, since they are a part of each position."""
        return _rules_of, (self.name, self.round_limit, self.ends_with_finished_color)


SEAT_OF_COLOR: Final[tuple[Seat, Seat, Seat, Seat]] = (0, 1, 0, 1)
"""The owner of each colour: seat 0 plays BLUE and RED, seat 1 YELLOW and GREEN."""

_T = TypeVar("_T")
_Cells: TypeAlias = tuple[Bitboard, Bitboard, Bitboard, Bitboard]
_Masks: TypeAlias = tuple[int, int, int, int]
_MonoLast: TypeAlias = tuple[bool | None, bool | None, bool | None, bool | None]

_COLORS: Final = tuple(Color)
_ROW_AND_COLUMN: Final = tuple(divmod(index, STRIDE) for index in range(SIZE * STRIDE))
_ALL_COLORS_MASK: Final = (1 << len(_COLORS)) - 1
ALL_PLACED_BONUS: Final = 15
MONO_LAST_BONUS: Final = 5


class BlokusState(Struct, frozen=True):
    """A position; implements `spielleiter.game.api.State`. The default values are those of the empty board.

    The first two moves of a game. BLUE places its V in a corner, YELLOW in another one:

    >>> from spielleiter.game.blokus import BLOKUS_2021, Rotation
    >>> state = BlokusState(BLOKUS_2021.rules, Shape.PENTO_V)
    >>> state = state.play(SetMove(Color.BLUE, Shape.PENTO_V, Rotation.NONE, is_flipped=False, x=0, y=17))
    >>> state = state.play(SetMove(Color.YELLOW, Shape.PENTO_V, Rotation.MIRROR, is_flipped=False, x=17, y=0))
    >>> print(state)
    . . . . . . . . . . . . . . . . . Y Y Y
    . . . . . . . . . . . . . . . . . . . Y
    . . . . . . . . . . . . . . . . . . . Y
    . . . . . . . . . . . . . . . . . . . .
    . . . . . . . . . . . . . . . . . . . .
    . . . . . . . . . . . . . . . . . . . .
    . . . . . . . . . . . . . . . . . . . .
    . . . . . . . . . . . . . . . . . . . .
    . . . . . . . . . . . . . . . . . . . .
    . . . . . . . . . . . . . . . . . . . .
    . . . . . . . . . . . . . . . . . . . .
    . . . . . . . . . . . . . . . . . . . .
    . . . . . . . . . . . . . . . . . . . .
    . . . . . . . . . . . . . . . . . . . .
    . . . . . . . . . . . . . . . . . . . .
    . . . . . . . . . . . . . . . . . . . .
    . . . . . . . . . . . . . . . . . . . .
    B . . . . . . . . . . . . . . . . . . .
    B . . . . . . . . . . . . . . . . . . .
    B B B . . . . . . . . . . . . . . . . .
    >>> state.color_on_turn, state.turn, state.round
    (<Color.RED: 2>, 2, 1)

    Two corners are still free. A V fits into a corner in four orientations, three of which cover the corner cell:

    >>> state.count_legal_moves()
    6
    >>> print(next(state.generate_legal_moves()))
    RED PENTO_V at (0, 0)
    >>> state.check(SetMove(Color.RED, Shape.PENTO_V, Rotation.NONE, is_flipped=False, x=8, y=8))
    <BlokusMistake.NOT_IN_CORNER: 7>
    """

    rules: Ruleset
    start_shape: Shape
    """The piece that every colour has to place first."""
    turn: int = 0
    """The number of turns so far, including those of colours that are no longer in the game."""
    cells: _Cells = (EMPTY, EMPTY, EMPTY, EMPTY)
    """For each colour the cells that it has covered."""
    remaining_masks: _Masks = (ALL_SHAPES_MASK, ALL_SHAPES_MASK, ALL_SHAPES_MASK, ALL_SHAPES_MASK)
    """For each colour the pieces that it has not placed yet; bit i stands for Shape(i)."""
    valid_mask: int = _ALL_COLORS_MASK
    """The colours that are still in the game; bit c stands for Color(c)."""
    last_move: SetMove | SkipMove | None = None
    """None before the first move. The colour of a SkipMove is always set."""
    mono_last: _MonoLast = (None, None, None, None)
    """For each colour None until it has placed all its pieces, then whether MONO was the last of them."""

    def __str__(self) -> str:
        """Return a drawing of the board: a line for each row, with the first letter of the colour on each cell."""
        owners = {index: color.name[0] for color in _COLORS for index in scan(self.cells[color])}
        return "\n".join(" ".join(owners.get(y * STRIDE + x, ".") for x in range(SIZE)) for y in range(SIZE))

    @property
    def round(self) -> int:
        """The number of the current round, from 1. A round has four turns even if colours have left the game."""
        return 1 + self.turn // 4

    @property
    def color_on_turn(self) -> Color:
        """The colour to move. Meaningless once the game is over."""
        return _COLORS[self.turn % 4]

    @property
    def seat_on_turn(self) -> Seat:
        """The player to move: the owner of the colour on turn. Meaningless once the game is over."""
        return SEAT_OF_COLOR[self.turn % 4]

    @property
    def valid_colors(self) -> tuple[Color, ...]:
        """The colours that are still in the game, in the order of their turns."""
        return tuple(color for color in _COLORS if self.valid_mask >> color & 1)

    def remaining_shapes(self, color: Color) -> tuple[Shape, ...]:
        """Return the pieces that `color` has not placed yet, in the order of `Shape`."""
        return tuple(Shape(index) for index in scan(self.remaining_masks[color]))

    def color_at(self, x: int, y: int) -> Color | None:
        """Return the colour that has covered the cell (x, y), or None. Both coordinates must be in 0..19."""
        cell = bit(x, y)
        return next((color for color in _COLORS if self.cells[color] & cell), None)

    def check(self, move: Move) -> BlokusMistake | None:
        """Return the first rule that `move` breaks, in the order of the official server, or None if it is legal.

        Raises GameOverError if the game is over, IncompleteMoveError for a move that lacks too much, and TypeError for
        a move of another game.
        """
        if self._is_over():
            raise GameOverError(move)
        color = self.turn % 4
        remaining = self.remaining_masks[color]
        is_first = remaining == ALL_SHAPES_MASK
        if isinstance(move, SkipMove):
            if move.color is not None and move.color != color:
                return BlokusMistake.WRONG_COLOR
            return BlokusMistake.SKIP_FIRST_TURN if is_first else None
        if not isinstance(move, SetMove):
            if isinstance(move, IncompleteMove):
                # its colour is all that can be checked, and a skip has none
                if move.is_skip or (move.piece is not None and move.piece.color != color):
                    return BlokusMistake.WRONG_COLOR
                raise IncompleteMoveError(move)
            raise TypeError(f"not a move of Blokus: {move!r}")
        if move.color != color:
            return BlokusMistake.WRONG_COLOR
        if is_first and move.shape != self.start_shape:
            return BlokusMistake.WRONG_SHAPE
        if not remaining >> move.shape & 1:
            return BlokusMistake.DUPLICATE_SHAPE
        free, attach, _ = self._placement_masks(color, self.cells, self.remaining_masks)
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
        """Return the position after `move`.

        Raises IllegalMoveError for a move that breaks a rule, and what `check` raises.
        """
        mistake = self.check(move)
        if mistake is not None:
            raise IllegalMoveError(mistake, move)
        color = self.color_on_turn
        if not isinstance(move, SetMove):
            return self._after(SkipMove(color), self.cells, self.remaining_masks, self.mono_last)
        piece = orientation(move.shape, move.rotation, move.is_flipped).mask << (move.y * STRIDE + move.x)
        remaining = self.remaining_masks[color] ^ 1 << move.shape
        return self._after(
            move,
            _with(self.cells, color, self.cells[color] | piece),
            _with(self.remaining_masks, color, remaining),
            self.mono_last if remaining else _with(self.mono_last, color, move.shape == Shape.MONO),
        )

    def has_legal_move(self) -> bool:
        """Return whether the colour on turn can place a piece; False once the game is over.

        This is faster than `count_legal_moves`: the search stops at the first placement found.
        """
        return not self._is_over() and has_placement(
            *self._placement_masks(self.turn % 4, self.cells, self.remaining_masks)
        )

    def generate_legal_moves(self) -> Iterator[SetMove]:
        """Yield every legal placement of the colour on turn; nothing once the game is over.

        Each placement comes once, in its canonical combination of rotation and flip. A SkipMove, which changes nothing
        on the board, is never among them, although it is legal after a colour's first piece.
        """
        if self._is_over():
            return
        color = self.color_on_turn
        for turned, corners in generate_placements(*self._placement_masks(color, self.cells, self.remaining_masks)):
            shape, rotation, is_flipped = turned.shape, turned.rotation, turned.is_flipped
            left = corners
            while left:  # what `scan` does, without a second generator for every move
                lowest = left & -left
                y, x = _ROW_AND_COLUMN[lowest.bit_length() - 1]
                yield SetMove(color, shape, rotation, is_flipped, x, y)
                left ^= lowest

    def draw_legal_move(self, rng: random.Random) -> SetMove | None:
        """Return one of the moves that `generate_legal_moves` yields, all equally likely; None if there is none.

        This is the move that `rng.choice` would draw from the list of them, without making the others.
        """
        if self._is_over():
            return None
        color = self.color_on_turn
        placements = list(generate_placements(*self._placement_masks(color, self.cells, self.remaining_masks)))
        ends = list(itertools.accumulate(corners.bit_count() for _, corners in placements))
        if not ends:
            return None
        number = rng.randrange(ends[-1])
        index = bisect_right(ends, number)
        turned, corners = placements[index]
        number -= ends[index] - corners.bit_count()
        y, x = divmod(next(itertools.islice(scan(corners), number, None)), STRIDE)
        return SetMove(color, turned.shape, turned.rotation, turned.is_flipped, x, y)

    def count_legal_moves(self) -> int:
        """Return the number of moves that `generate_legal_moves` yields, without making them."""
        if self._is_over():
            return 0
        return self._count_placements(self.turn % 4)

    def count_placements(self, color: Color) -> int:
        """Return the number of legal placements that `color` would have if it were on turn now.

        It is 0 for a colour that has left the game, and for every colour once the game is over.
        """
        if self._is_over() or not self.valid_mask >> color & 1:
            return 0
        return self._count_placements(color)

    def _count_placements(self, color: int) -> int:
        masks = self._placement_masks(color, self.cells, self.remaining_masks)
        return sum(corners.bit_count() for _, corners in generate_placements(*masks))

    def outcome(self) -> Outcome | None:
        """Return None while the game is being played. After that, the seat with more points has won."""
        if not self._is_over():
            return None
        difference = self.points(0)[0] - self.points(1)[0]
        return Outcome(None if difference == 0 else 0 if difference > 0 else 1, "points")

    def points(self, seat: Seat) -> tuple[int, ...]:
        """Return the points of `seat`, the only part of the score.

        They are the number of cells that both colours of the seat have covered, plus 15 for a colour that has placed
        all its pieces, or 20 if MONO was the last of them.
        """
        return (sum(self.points_of(color) for color in _COLORS if SEAT_OF_COLOR[color] == seat),)

    def points_of(self, color: Color) -> int:
        """Return the part of the points of a seat that `color` has won."""
        remaining = self.remaining_masks[color]
        if remaining:
            return sum(SIZES) - sum(SIZES[index] for index in scan(remaining))
        return sum(SIZES) + ALL_PLACED_BONUS + (MONO_LAST_BONUS if self.mono_last[color] else 0)

    def _is_over(self) -> bool:
        # This runs for every move, so the cheap tests come first; few positions have a finished colour.
        return (
            not self.valid_mask
            or self.turn >= 4 * self.rules.round_limit
            or (not all(self.remaining_masks) and self.rules.ends_with_finished_color and self._is_final_round_over())
        )

    def _is_final_round_over(self) -> bool:
        """Return whether the round is over in which a colour has placed its last piece.

        A finished colour leaves the game when its next turn comes. So while it is still in the game, the current turn
        is one of the three after its last piece, and is in the same round if it belongs to a later colour.
        """
        return any(
            not self.remaining_masks[color] and not (self.valid_mask >> color & 1 and self.turn % 4 > color)
            for color in _COLORS
        )

    def _placement_masks(self, color: int, cells: _Cells, remaining_masks: _Masks) -> tuple[Bitboard, Bitboard, int]:
        """Return what the functions in `moves` need: the free cells, attach cells and possible pieces of `color`."""
        blue, yellow, red, green = cells
        own, remaining = cells[color], remaining_masks[color]
        free = free_cells(own, blue | yellow | red | green)
        if remaining == ALL_SHAPES_MASK:
            return free, self.rules.first_piece_mask & free, 1 << self.start_shape
        return free, attach_cells(own, free), remaining

    def _after(
        self, move: SetMove | SkipMove, cells: _Cells, remaining_masks: _Masks, mono_last: _MonoLast
    ) -> BlokusState:
        """Return the position with these parts in which the next colour that has a legal placement is on turn."""
        turn, valid_mask = self.turn, self.valid_mask
        while valid_mask:
            turn += 1
            color = turn % 4
            if valid_mask >> color & 1:
                if has_placement(*self._placement_masks(color, cells, remaining_masks)):
                    break
                valid_mask ^= 1 << color
        return BlokusState(
            self.rules, self.start_shape, turn, cells, remaining_masks, valid_mask, last_move=move, mono_last=mono_last
        )


def _with(values: tuple[_T, _T, _T, _T], color: Color, value: _T) -> tuple[_T, _T, _T, _T]:
    """Return `values` with the entry of `color` replaced."""
    changed = list(values)
    changed[color] = value
    blue, yellow, red, green = changed
    return blue, yellow, red, green


RULES_2021: Final = Ruleset(
    name="blokus-2021",
    start_shapes=tuple(shape for shape in PENTOMINOES if shape is not Shape.PENTO_X),
    first_piece_mask=CORNERS,
    first_piece_mistake=BlokusMistake.NOT_IN_CORNER,
    round_limit=25,
    ends_with_finished_color=True,
)
"""The season's rules text (including its sentence on a finished colour) and, where it says nothing, release 21.4.0."""

RULES_2027: Final = Ruleset(
    name="blokus-2027",
    start_shapes=PENTOMINOES,
    first_piece_mask=BORDER,
    first_piece_mistake=BlokusMistake.NOT_ON_BORDER,
    round_limit=24,
    ends_with_finished_color=False,
)
"""The rules as release 27.0.4 implements them."""


@lru_cache(maxsize=32)
def _rules_of(name: str, round_limit: int, ends_with_finished_color: bool) -> Ruleset:
    rules = next(each for each in (RULES_2021, RULES_2027) if each.name == name)
    return replace(rules, round_limit=round_limit, ends_with_finished_color=ends_with_finished_color)


_GAME_ENDS: Final = {
    RULES_2021.name: {"colorFinished": RULES_2021, "noMovesLeft": replace(RULES_2021, ends_with_finished_color=False)},
    RULES_2027.name: {
        "colorFinished": replace(RULES_2027, round_limit=25, ends_with_finished_color=True),
        "noMovesLeft": RULES_2027,
    },
}
"""For each season the values of the option `gameEnd`, and the rules whose end of the game each one stands for.

`colorFinished` is the end according to the season's published rules, `noMovesLeft` that of its release.
"""


class BlokusGame(Struct, frozen=True):
    """A rule set with its options; implements `spielleiter.game.api.Game`.

    >>> BLOKUS_2027.with_options({"startPiece": "MONO"})
    Traceback (most recent call last):
    ...
    spielleiter.game.api.GameOptionError: startPiece: 'MONO' is not one of PENTO_L, PENTO_T, ...
    """

    rules: Ruleset
    start_shape: Shape | None = None
    """The piece that every colour must place first. None: it is drawn for each game."""

    @property
    def name(self) -> str:
        """The name of the rule set."""
        return self.rules.name

    @property
    def option_names(self) -> frozenset[str]:
        """`startPiece` (the name of a start piece) and `gameEnd` (`colorFinished` or `noMovesLeft`)."""
        return frozenset({"startPiece", "gameEnd"})

    def with_options(self, options: Mapping[str, str]) -> BlokusGame:
        """Return the same game with `options` (name to value) set. Options that are not given keep their values.

        Raises GameOptionError for a value that is not allowed; the message names the allowed ones.
        """
        game = self
        if (start_piece := options.get("startPiece")) is not None:
            known_shapes = {shape.name: shape for shape in self.rules.start_shapes}
            game = replace(game, start_shape=_choose("startPiece", start_piece, known_shapes))
        if (game_end := options.get("gameEnd")) is not None:
            chosen = _choose("gameEnd", game_end, _GAME_ENDS[self.rules.name])
            rules = replace(
                self.rules,
                round_limit=chosen.round_limit,
                ends_with_finished_color=chosen.ends_with_finished_color,
            )
            game = replace(game, rules=rules)
        return game

    def new_state(self, rng: random.Random) -> BlokusState:
        """Return the empty board. The start piece is the one chosen by option, or is drawn with `rng`."""
        start_shape = rng.choice(self.rules.start_shapes) if self.start_shape is None else self.start_shape
        return BlokusState(self.rules, start_shape)

    def resume(self, state: State) -> BlokusState:
        """Return the position `state` under the rules and options of this game. It keeps its start piece.

        Raises GameError for a position of another game or of another season.
        """
        if not isinstance(state, BlokusState) or state.rules.name != self.rules.name:
            raise GameError(f"not a position of {self.name}: {state!r}")
        return replace(state, rules=self.rules)


def _choose(option: str, value: str, known: Mapping[str, _T]) -> _T:
    try:
        return known[value]
    except KeyError:
        raise GameOptionError(f"{option}: {value!r} is not one of {', '.join(known)}", known) from None


BLOKUS_2021: Final = BlokusGame(RULES_2021)
BLOKUS_2027: Final = BlokusGame(RULES_2027)
