"""The levels of Blokus, for all of its seasons: their evaluation, their search, and the table of their settings.

Invariants: a level is its settings. Its moves depend only on the position and the generator that it is given, unless
its search is cut short by the clock, which happens only on a machine that is very slow or busy.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import exp
from operator import attrgetter
from typing import Final, NamedTuple

from spielleiter.game.blokus.moves import SetMove, attach_cells, free_cells, generate_placements
from spielleiter.game.blokus.pieces import (
    ALL_SHAPES_MASK,
    BOARD,
    EMPTY,
    SIZE,
    SIZES,
    STRIDE,
    Bitboard,
    Orientation,
    corner_neighbors,
    edge_neighbors,
    scan,
)
from spielleiter.game.blokus.state import SEAT_OF_COLOR, BlokusState
from spielleiter.players.search_budget import LadderLevel, SearchBudget, no_move

# -- placements -------------------------------------------------------------------------------------------------------
# Those of an orientation are computed when it is first used, and kept: about 8 MB if all 30,433 have been used.


class Placement(NamedTuple):
    """A piece at a place on the board, for any colour."""

    piece: Bitboard
    """The cells that it covers."""
    keep: Bitboard
    """The cells that remain free for its own colour: neither covered nor sharing an edge with a covered one."""
    corners: Bitboard
    """The cells that share a corner with one of its cells; the result may contain bits outside the board."""


def placements_of(turned: Orientation) -> dict[int, Placement]:
    """Return the placements of an orientation by the index of the upper left corner of the bounding box."""
    return _placements(turned.mask, turned.width, turned.height)


@cache
def _placements(mask: Bitboard, width: int, height: int) -> dict[int, Placement]:
    return {
        index: Placement(piece, keep, corner_neighbors(piece)) for index, piece, keep in all_places(mask, width, height)
    }


def all_places(mask: Bitboard, width: int, height: int) -> Iterator[tuple[int, Bitboard, Bitboard]]:
    """Yield each place of an orientation: the index of its corner, and `piece` and `keep` as in a `Placement`."""
    for y in range(SIZE - height + 1):
        for x in range(SIZE - width + 1):
            index = y * STRIDE + x
            piece = mask << index
            yield index, piece, BOARD & ~(piece | edge_neighbors(piece))


# -- evaluation -------------------------------------------------------------------------------------------------------
# A value is in points, seen from the side that has just moved. It counts the cells of the piece, and the cells that
# each colour can reach, which stand for the points still to come. A colour's reach is its attach cells, and its near
# and far cells: the free cells within one and two steps of an attach cell, steps being those of a king in chess. When
# moves are rated, the cells that a piece takes from the other colours are counted, but not those that it cuts off. All
# weights are the same for all colours and all phases of a game; fitting them to games of the levels did not make these
# stronger.

CELL: Final = 2.0
"""The value of a cell of the piece; twice a point, since a large piece is harder to place later."""
ATTACH: Final = 0.3
NEAR: Final = 0.05
FAR: Final = 0.1
EXCLUSIVE: Final = 0.05
"""The value of a far cell that no colour of the other side can reach."""

SHAPES_BY_SIZE: Final = tuple(
    sum(1 << shape for shape, cells in enumerate(SIZES) if cells == size) for size in range(max(SIZES), 0, -1)
)
"""The shapes of each size, the largest size first."""
SAMPLE_EXCESS: Final = 1.4
"""A sample may be this much larger than wanted; about the root of two, since larger ones are halved."""
BITS: Final = SIZE * STRIDE
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
        return ATTACH * self.attach.bit_count() + NEAR * self.near.bit_count() + FAR * self.far.bit_count()


_NO_REACH: Final = Reach(EMPTY, EMPTY, EMPTY, EMPTY)


class RatedMove(NamedTuple):
    """A legal placement with its value."""

    value: float
    turned: Orientation
    corner: int
    """The index of the upper left corner of its bounding box."""

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
    return ours.value + our_partner.value - theirs.value - their_partner.value + EXCLUSIVE * exclusive


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
    placements = next(filter(None, (outlook.placements(outlook.shapes & mask) for mask in SHAPES_BY_SIZE)))
    is_complete = True
    while sum(corners.bit_count() for _, corners in placements) > SAMPLE_EXCESS * count:
        # a random half of the moves
        thinned = [(turned, corners & rng.getrandbits(BITS)) for turned, corners in placements]
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
            value = base + ATTACH * attach_count + NEAR * near_count + FAR * far_count + EXCLUSIVE * exclusive
            rated.append(RatedMove(value, turned, corner))
    return rated


# -- search -----------------------------------------------------------------------------------------------------------
# Monte Carlo, with the evaluation as its prior. The candidates are the moves that are rated highest. Each of them is
# followed by lines, in which every colour plays the best of a random sample of its moves (`sample_moves`). The value of
# a line is that of the cells placed in it and of the position at its end; the value of a candidate is the mean of its
# lines. After each round the better half of the candidates stays, so most of the work goes into the best ones
# (sequential halving). The work depends on the settings and the position, never on seconds, so the result does not
# depend on the speed of the machine.

_by_value = attrgetter("value")


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How much a level searches.

    - `width`: the number of candidates.
    - `rounds`: for each round, the number of lines that each remaining candidate gets in it.
    - `turns`: the number of turns of a line, the candidate included. A multiple of four lets all colours play equally
      often.
    - `sample`: about how many moves of the colour to move are rated in each turn of a line.
    """

    width: int
    rounds: tuple[int, ...]
    turns: int
    sample: int


def search(
    state: BlokusState,
    rated: Sequence[RatedMove],
    settings: SearchSettings,
    rng: random.Random,
    is_cut: Callable[[], bool],
) -> list[RatedMove]:
    """Return the candidates of the last round with their values; of all candidates, if the first round was cut.

    `rated` are the legal moves in `state`. `is_cut` is asked before each line; once it returns True, the last complete
    round counts.
    """
    best = sorted(rated, key=_by_value, reverse=True)[: settings.width]
    candidates = [Candidate(state, each) for each in best]
    for lines in settings.rounds:
        if len(candidates) == 1:
            break
        for candidate in candidates:
            for _ in range(lines):
                if is_cut():
                    return best
                candidate.add_line(settings, rng)
        candidates.sort(key=_by_value, reverse=True)
        best = [each.move._replace(value=each.value) for each in candidates]
        del candidates[(len(candidates) + 1) // 2 :]
    return best


class Candidate:
    """The move `move` in the position `state`, with the lines that begin with it."""

    def __init__(self, state: BlokusState, move: RatedMove) -> None:
        self.move = move
        self._seat = state.seat_on_turn
        self._lead_before = self._lead(state)
        self._state = state.play(move.set_move(state))
        self._lines = 0
        self._sum = 0.0
        self._is_certain = False

    @property
    def value(self) -> float:
        """The mean value of the lines for the side that plays the candidate."""
        return self._sum / self._lines

    def add_line(self, settings: SearchSettings, rng: random.Random) -> None:
        """Play one line, unless it would be the same as the one before it."""
        if self._is_certain:
            return
        state, is_certain = self._state, True
        for _ in range(settings.turns - 1):
            if state.outcome() is not None:
                break
            sample = sample_moves(state, settings.sample, rng)
            is_certain = is_certain and sample.is_complete
            state = state.play(max(sample.moves, key=_by_value).set_move(state))
        value = CELL * (self._lead(state) - self._lead_before)
        if state.outcome() is None:
            value += position_value(state, self._seat)
        self._lines += 1
        self._sum += value
        self._is_certain = is_certain  # nothing was left to chance, so all lines would be this one

    def _lead(self, state: BlokusState) -> int:
        (ours,), (theirs,) = state.points(self._seat), state.points(1 - self._seat)
        return ours - theirs


# -- levels -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BlokusSettings:
    """What makes a level.

    - `temperature`: the noise of the choice, in points: a move that is worth this much less than another one is chosen
      with 1/e of its probability. 0: the best move.
    - `search`: how much it searches; None: it takes the evaluation of the position after each move.
    """

    temperature: float = 0.0
    search: SearchSettings | None = None

    @property
    def description(self) -> str:
        """What the level does, in words."""
        parts = ["counts the cells that each colour can reach"]
        if self.search is not None:
            lines = ", then ".join(map(str, self.search.rounds))
            parts.append(
                f"follows its {self.search.width} best moves for {self.search.turns} turns, {lines} times each, "
                f"with samples of {self.search.sample} moves"
            )
        if self.temperature:
            parts.append(f"noise of {self.temperature:g} points")
        return "; ".join(parts)


def choose_move(
    settings: BlokusSettings,
    state: BlokusState,
    rng: random.Random,
    budget: SearchBudget | None = None,
) -> SetMove:
    """Return a move; see `BlokusSettings`. Raises NoMoveError if there is none.

    `budget` is the time for it; None: the usual one.
    """
    budget = budget or SearchBudget()
    rated: Sequence[RatedMove] = rate_moves(state)
    if not rated:
        raise no_move(state)
    if settings.search is not None:
        rated = search(state, rated, settings.search, rng, budget.is_used_up)
    return draw(rated, settings.temperature, rng).set_move(state)


def draw(rated: Sequence[RatedMove], temperature: float, rng: random.Random) -> RatedMove:
    """Return a move drawn with the probabilities that `temperature` gives to the values."""
    best = max(each.value for each in rated)
    if temperature == 0:
        return rng.choice([each for each in rated if each.value == best])
    return rng.choices(rated, [exp((each.value - best) / temperature) for each in rated])[0]


SETTINGS: Final = (
    BlokusSettings(temperature=0.62),
    BlokusSettings(temperature=0.45),
    BlokusSettings(temperature=0.28),
    BlokusSettings(temperature=0.0),
    BlokusSettings(search=SearchSettings(width=3, rounds=(1,), turns=4, sample=16)),
    BlokusSettings(search=SearchSettings(width=4, rounds=(1, 2), turns=8, sample=32)),
    BlokusSettings(search=SearchSettings(width=6, rounds=(2, 4), turns=12, sample=48)),
    BlokusSettings(search=SearchSettings(width=16, rounds=(2, 4, 6, 12), turns=12, sample=48)),
)
"""The settings of each level, the weakest first."""

BLOKUS_LEVELS: Final = tuple(LadderLevel(each.description, partial(choose_move, each)) for each in SETTINGS)
"""The levels of Blokus, the weakest first."""
