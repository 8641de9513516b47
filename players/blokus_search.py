"""The search of the strongest level of Blokus, which takes the time that it is given.

Monte Carlo tree search, with the evaluation of the other levels (players/blokus_levels.py) in two places: it says which
moves of a position are worth a look, and what the position at the end of a line is worth. A line begins at the root,
follows the moves of the tree that look best so far, adds one position to it, and continues with moves that are the best
of random samples. Its value is added to that of every move of the tree that it came through. So the lines gather where
both sides play well, and the value of a move is that of the best replies to it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache, partial
from math import exp, gcd, inf, sqrt
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from spielleiter.game.blokus.moves import (
    OFFSETS,
    ORIENTATIONS_BY_SHAPE,
    SetMove,
    attach_cells,
    free_cells,
    generate_placements,
    has_placement,
)
from spielleiter.game.blokus.pieces import (
    ALL_SHAPES_MASK,
    EMPTY,
    ORIENTATIONS,
    SIZES,
    STRIDE,
    Bitboard,
    Orientation,
    Shape,
    corner_neighbors,
    scan,
)
from spielleiter.game.blokus.state import ALL_PLACED_BONUS, MONO_LAST_BONUS, BlokusState
from spielleiter.players.blokus_levels import (
    ATTACH,
    BITS,
    CELL,
    EXCLUSIVE,
    FAR,
    NEAR,
    SAMPLE_EXCESS,
    SHAPES_BY_SIZE,
    all_places,
    reach_from,
)
from spielleiter.players.search_budget import LadderLevel, SearchBudget, no_move

# -- positions --------------------------------------------------------------------------------------------------------


class SearchPosition:
    """A position that lines change in place. It has what the search asks for, and nothing else of a `BlokusState`.

    `free` and `attach` are kept for all colours, so that a turn costs a few operations. A colour that has left the
    game, or has placed all of its pieces, has neither.
    """

    __slots__ = ("attach", "free", "lead", "remaining", "rules", "start_mask", "turn", "valid_mask")

    def __init__(self, state: BlokusState) -> None:
        blue, yellow, red, green = state.cells
        taken = blue | yellow | red | green
        self.rules = state.rules
        self.start_mask = 1 << state.start_shape
        self.turn = state.turn
        self.remaining = list(state.remaining_masks)
        self.valid_mask = state.valid_mask
        self.lead = state.points(0)[0] - state.points(1)[0]
        """The points of seat 0 less those of seat 1."""
        self.free: list[Bitboard] = []
        self.attach: list[Bitboard] = []
        for color, own in enumerate(state.cells):
            is_in_game = self.valid_mask >> color & 1 and self.remaining[color]
            free = free_cells(own, taken) if is_in_game else EMPTY
            is_first = self.remaining[color] == ALL_SHAPES_MASK
            self.free.append(free)
            self.attach.append(self.rules.first_piece_mask & free if is_first else attach_cells(own, free))

    def copy(self) -> SearchPosition:
        """Return the same position, to be changed independently."""
        other = SearchPosition.__new__(SearchPosition)
        other.rules, other.start_mask, other.turn = self.rules, self.start_mask, self.turn
        other.free, other.attach, other.remaining = self.free[:], self.attach[:], self.remaining[:]
        other.valid_mask, other.lead = self.valid_mask, self.lead
        return other

    @property
    def shapes(self) -> int:
        """The pieces that the colour on turn may place, a set of bits."""
        remaining = self.remaining[self.turn % 4]
        return self.start_mask if remaining == ALL_SHAPES_MASK else remaining

    def place(self, shape: Shape, placement: SearchPlacement) -> None:
        """Place a piece of the colour on turn; then the next colour is on turn, even if it has no legal move."""
        color = self.turn % 4
        free, attach = self.free, self.attach
        before = EMPTY if self.remaining[color] == ALL_SHAPES_MASK else attach[color]
        others = ~placement.piece
        for each in range(4):
            free[each] &= others
            attach[each] &= others
        free[color] &= placement.keep
        attach[color] = (before | placement.corners) & free[color]
        self.remaining[color] ^= 1 << shape
        points = SIZES[shape]
        if not self.remaining[color]:
            points += ALL_PLACED_BONUS + (MONO_LAST_BONUS if shape == Shape.MONO else 0)
            free[color] = attach[color] = EMPTY
        self.lead += -points if color % 2 else points
        self.turn += 1

    def leave(self) -> None:
        """Let the colour on turn leave the game, since it has no legal move; then the next colour is on turn."""
        color = self.turn % 4
        self.valid_mask &= ~(1 << color)
        self.free[color] = self.attach[color] = EMPTY
        self.turn += 1

    def pass_to_next(self) -> None:
        """Pass the turn to the next colour with a legal move; colours without one leave the game on the way."""
        while self.valid_mask:
            color = self.turn % 4
            if self.attach[color] and has_placement(self.free[color], self.attach[color], self.shapes):
                break
            self.leave()

    def is_over(self) -> bool:
        """Return whether the game is over; the colour on turn has a legal move, or no colour has one."""
        if not self.valid_mask or self.turn >= 4 * self.rules.round_limit:
            return True
        if not self.rules.ends_with_finished_color or all(self.remaining):
            return False
        return any(
            not remaining and not (self.valid_mask >> color & 1 and self.turn % 4 > color)
            for color, remaining in enumerate(self.remaining)
        )

    def value(self) -> float:
        """Return what the position is worth for seat 0."""
        if self.is_over():
            return CELL * self.lead
        blue, yellow, red, green = map(reach_from, self.free, self.attach)
        exclusive = (blue.far | red.far).bit_count() - (yellow.far | green.far).bit_count()
        return CELL * self.lead + blue.value + red.value - yellow.value - green.value + EXCLUSIVE * exclusive


# -- moves ------------------------------------------------------------------------------------------------------------


class SearchPlacement(NamedTuple):
    """A piece at a place on the board, for any colour; `corners`, `near` and `far` are subsets of `keep`."""

    piece: Bitboard
    """The cells that it covers."""
    keep: Bitboard
    """The cells that remain free for its own colour: neither covered nor sharing an edge with a covered one."""
    corners: Bitboard
    """The cells that share a corner with one of its cells."""
    near: Bitboard
    """The cells within one step of `corners`, as if all cells were free."""
    far: Bitboard
    """The cells within two steps."""


@cache
def _placements(mask: Bitboard, width: int, height: int) -> dict[int, SearchPlacement]:
    """Return the placements of an orientation by the index of the upper left corner of the bounding box."""
    return {
        index: SearchPlacement(piece, keep, *reach_from(keep, corner_neighbors(piece) & keep)[1:])
        for index, piece, keep in all_places(mask, width, height)
    }


RatedPlacement: TypeAlias = tuple[float, Orientation, int, SearchPlacement]
"""What a legal placement is worth at first sight, its orientation, the index of its corner, and itself.

A plain tuple, since lines make thousands of them.
"""

Found: TypeAlias = list[tuple[Orientation, Bitboard]]
"""Legal placements: orientations, each with the upper left corners of its placements."""


@cache
def _orientations(shapes_mask: int) -> tuple[tuple[Orientation, int, int, int, int, int], ...]:
    return tuple(each for shape in scan(shapes_mask) for each in ORIENTATIONS_BY_SHAPE[shape])


_STRIDES: Final = tuple(
    tuple(stride for stride in range(1, count + 1) if gcd(stride, count) == 1) for count in range(len(ORIENTATIONS) + 1)
)
"""For a number of orientations the strides that visit each of them once, going round."""


def sample_placements(position: SearchPosition, count: int, rng: random.Random) -> Found:
    """Return about `count` random placements of the largest pieces that the colour on turn can place.

    Returns all of them if they are few, and nothing if there is none. Orientations are tried in a random order until
    there are enough, so not every set of moves is equally likely.
    """
    color = position.turn % 4
    attach = position.attach[color]
    if not attach:
        return []
    shapes, free = position.shapes, position.free[color]
    free_at = [free >> offset for offset in OFFSETS]
    attach_at = [attach >> offset for offset in OFFSETS]
    for mask in SHAPES_BY_SIZE:
        if not shapes & mask:
            continue
        orientations = _orientations(shapes & mask)
        number = int(rng.random() * len(orientations))
        strides = _STRIDES[len(orientations)]
        stride = strides[int(rng.random() * len(strides))]
        found, total = [], 0
        for _ in orientations:
            turned, a, b, c, d, e = orientations[number]
            number = (number + stride) % len(orientations)
            fits = free_at[a] & free_at[b] & free_at[c] & free_at[d] & free_at[e]
            if fits and (corners := fits & (attach_at[a] | attach_at[b] | attach_at[c] | attach_at[d] | attach_at[e])):
                found.append((turned, corners))
                total += corners.bit_count()
                if total > 2 * count:
                    break
        if found:
            while total > SAMPLE_EXCESS * count:
                # a random half of the placements
                thinned = [(turned, corners & rng.getrandbits(BITS)) for turned, corners in found]
                found = [each for each in thinned if each[1]] or found[:1]
                total = sum(corners.bit_count() for _, corners in found)
            return found
    return []


def rate_placements(position: SearchPosition, found: Found) -> list[RatedPlacement]:
    """Return the placements with their values, which are about those of the other levels.

    A cell counts as near or far even if something lies between; this takes half of the time.
    """
    color = position.turn % 4
    free, attach = position.free, position.attach
    own, partner = reach_from(free[color], attach[color]), reach_from(free[color - 2], attach[color - 2])
    first, second = reach_from(free[color - 1], attach[color - 1]), reach_from(free[color - 3], attach[color - 3])
    _, partner_attach, partner_near, partner_far = partner
    _, first_attach, first_near, first_far = first
    _, second_attach, second_near, second_far = second
    their_far = first_far | second_far
    others = partner.value - first.value - second.value - EXCLUSIVE * their_far.bit_count()
    remaining = position.remaining[color]
    own_free, own_attach, own_near, own_far = own
    if remaining == ALL_SHAPES_MASK:
        own_attach = own_near = own_far = EMPTY  # where its first piece may lie, it reaches nothing later
    if remaining.bit_count() == 1:
        own_free = EMPTY  # after its last piece a colour reaches nothing
    rated = []
    for turned, left_corners in found:
        corners = left_corners  # taken one by one here, since `scan` would take a tenth of the time
        base = others + CELL * SIZES[turned.shape]
        table = _placements(turned.mask, turned.width, turned.height)
        while corners:
            lowest = corners & -corners
            corners ^= lowest
            corner = lowest.bit_length() - 1
            placement = table[corner]
            piece, keep, new_attach, new_near, new_far = placement
            left = own_free & keep
            far = (own_far | new_far) & left
            value = base + ATTACH * ((own_attach | new_attach) & left).bit_count()
            value += NEAR * ((own_near | new_near) & left).bit_count() + FAR * far.bit_count()
            value += EXCLUSIVE * (far | partner_far).bit_count()
            if hit := piece & partner_far:
                value -= (FAR + EXCLUSIVE) * hit.bit_count()
                value -= NEAR * (piece & partner_near).bit_count() + ATTACH * (piece & partner_attach).bit_count()
            if hit := piece & their_far:
                value += EXCLUSIVE * hit.bit_count()
                if hit := piece & first_far:
                    value += FAR * hit.bit_count()
                    value += NEAR * (piece & first_near).bit_count() + ATTACH * (piece & first_attach).bit_count()
                if hit := piece & second_far:
                    value += FAR * hit.bit_count()
                    value += NEAR * (piece & second_near).bit_count() + ATTACH * (piece & second_attach).bit_count()
            rated.append((value, turned, corner, placement))
    return rated


_by_value = itemgetter(0)


def play_line(position: SearchPosition, last_turn: int, sample: int, rng: random.Random) -> float:
    """Play on in `position` until `last_turn`, and return what the position at the end is worth for seat 0.

    Every colour plays the best of a random sample of its moves, of about `sample`.
    """
    while position.valid_mask and position.turn < last_turn:
        found = sample_placements(position, sample, rng)
        if not found:
            position.leave()
        elif position.is_over():
            break
        else:
            _, turned, _, placement = max(rate_placements(position, found), key=_by_value)
            position.place(turned.shape, placement)
    return position.value()


# -- tree -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """How the tree is searched.

    - `turns`: the number of turns of a line, counted from the root; it is longer if the tree is deep.
    - `sample`: about how many moves are rated in each turn of a line.
    - `curiosity`: how much a move that looks good at first sight is preferred as long as it has few lines, in points.
    - `spread`: how quickly that falls with the value at first sight: a move worth this much less gets 1/e of it.
    - `trust`: the value at first sight counts as much as this number of lines.
    """

    turns: int = 12
    sample: int = 16
    curiosity: float = 4.0
    spread: float = 2.0
    trust: float = 3.0


_ENOUGH_MOVES: Final = 100
"""Moves with smaller pieces are not looked at if there are so many with larger ones."""
_MOST_MOVES: Final = 24
"""No more than these moves of a position are looked at, the best ones at first sight; they take most of the memory."""
_FIRST_MOVES: Final = 4
"""The number of moves that are looked at when a position is new; it grows with the root of its lines."""


class _TreeMove:
    """A move of the tree: how its value at first sight compares with that of the best move, and its lines."""

    __slots__ = ("_node", "lines", "move", "prior", "shortfall", "total")

    def __init__(self, move: RatedPlacement, shortfall: float, prior: float) -> None:
        self.move = move
        self.shortfall = shortfall
        self.prior = prior
        self.lines = 0
        self.total = 0.0
        self._node: _Node | None = None

    def node_after(self, position: SearchPosition) -> _Node:
        """Return the position after this move in `position`."""
        if self._node is None:
            _, turned, _, placement = self.move
            after = position.copy()
            after.place(turned.shape, placement)
            self._node = _Node(after)
        return self._node


class _Node:
    """A position of the tree. Its moves are listed when the second line comes through it, and looked at one by one."""

    __slots__ = ("_unseen", "is_over", "lines", "moves", "position", "sign", "total")

    def __init__(self, position: SearchPosition) -> None:
        position.pass_to_next()
        self.position = position
        self.is_over = position.is_over()
        self.sign = -1 if position.turn % 2 else 1
        self.lines = 0
        self.total = 0.0
        self.moves: list[_TreeMove] = []
        self._unseen: list[_TreeMove] | None = None

    def _list_moves(self, settings: TreeSettings) -> list[_TreeMove]:
        """Return the moves of the position that are worth a look, the best one at last."""
        position = self.position
        color = position.turn % 4
        found: Found = []
        count = 0
        for mask in SHAPES_BY_SIZE:
            if position.shapes & mask:
                some = list(generate_placements(position.free[color], position.attach[color], position.shapes & mask))
                found += some
                count += sum(corners.bit_count() for _, corners in some)
                if count >= _ENOUGH_MOVES:
                    break
        rated = sorted(rate_placements(position, found), key=_by_value, reverse=True)[:_MOST_MOVES]
        highest = rated[0][0]
        weights = [exp((value - highest) / settings.spread) for value, *_ in rated]
        share = 1 / sum(weights)
        return [
            _TreeMove(each, each[0] - highest, weight * share) for each, weight in zip(rated, weights, strict=True)
        ][::-1]

    def most_promising(self, settings: TreeSettings) -> _TreeMove:
        """Return the move that the next line is to follow."""
        if self._unseen is None:
            self._unseen = self._list_moves(settings)
        while self._unseen and len(self.moves) < _FIRST_MOVES + sqrt(self.lines):
            self.moves.append(self._unseen.pop())
        sign, trust = self.sign, settings.trust
        expected = sign * self.total / self.lines if self.lines else 0.0
        curiosity = settings.curiosity * sqrt(self.lines + 1)
        best, highest = self.moves[0], -inf
        for each in self.moves:
            lines = each.lines
            value = (sign * each.total + trust * (expected + each.shortfall)) / (lines + trust)
            value += curiosity * each.prior / (lines + 1)
            if value > highest:
                best, highest = each, value
        return best


class TreeSearch:
    """The tree of the position `state`; `lines` is the number of lines so far."""

    def __init__(self, state: BlokusState, settings: TreeSettings, rng: random.Random) -> None:
        self.lines = 0
        self._settings = settings
        self._rng = rng
        self._last_turn = state.turn + settings.turns
        self._root = _Node(SearchPosition(state))

    def add_line(self) -> None:
        """Play one line, and add the first position to the tree that it reaches outside of it."""
        settings, node = self._settings, self._root
        path: list[_Node | _TreeMove] = [node]
        while not node.is_over and (node.lines or node is self._root):
            move = node.most_promising(settings)
            node = move.node_after(node.position)
            path += move, node
        # a line has at least four turns outside of the tree, and the same colours have played in all lines
        last_turn = self._last_turn
        while last_turn < node.position.turn + 4:
            last_turn += 4
        value = play_line(node.position.copy(), last_turn, settings.sample, self._rng)
        for each in path:
            each.lines += 1
            each.total += value
        self.lines += 1

    def is_decided(self, share_taken: float) -> bool:
        """Whether no other move can still get as many lines as the best one in the rest of the time."""
        *others, first = sorted(each.lines for each in self._root.moves)
        if not others or share_taken >= 1.0:
            return True
        return (first - others[-1]) * share_taken > self.lines * (1.0 - share_taken)

    def best(self) -> RatedPlacement:
        """Return the move with most lines, of several the better one."""
        return max(self._root.moves, key=lambda each: (each.lines, self._root.sign * each.total)).move


# -- level ------------------------------------------------------------------------------------------------------------


def choose_move(
    settings: TreeSettings, state: BlokusState, rng: random.Random, budget: SearchBudget | None = None
) -> SetMove:
    """Return the best move that a search finds in the time of `budget`; None: the usual one.

    It ends earlier when more time would not change the move. Raises NoMoveError if there is no legal move.
    """
    budget = budget or SearchBudget()
    if not state.has_legal_move():
        raise no_move(state)
    search = TreeSearch(state, settings, rng)
    search.add_line()
    while not search.is_decided(budget.share_taken()):
        search.add_line()
    _, turned, corner, _ = search.best()
    y, x = divmod(corner, STRIDE)
    return SetMove(state.color_on_turn, turned.shape, turned.rotation, turned.is_flipped, x, y)


BLOKUS_TIMED_LEVEL: Final = LadderLevel(
    "searches a tree of moves for as long as it is given", partial(choose_move, TreeSettings()), takes_time=True
)
"""The strongest level of Blokus."""
