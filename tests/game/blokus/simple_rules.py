"""A second implementation of Blokus for comparison: slow and obvious, and without any code of `game`.

Invariants: everything follows the rules text literally, cell by cell, on a dictionary of cells; names are strings. The
hash sets of the official server are simulated with real buckets. This code can be trusted because it is simple.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Cell: TypeAlias = tuple[int, int]
Placement: TypeAlias = tuple[str, str, str, bool, int, int]
"""Colour, piece, rotation, whether it is flipped, x, y."""

COLORS: Final = ["BLUE", "YELLOW", "RED", "GREEN"]
TEAMS: Final = [["BLUE", "RED"], ["YELLOW", "GREEN"]]
ROTATIONS: Final = ["NONE", "RIGHT", "MIRROR", "LEFT"]

PIECES: Final[dict[str, str]] = {
    "MONO": "1",
    "DOMINO": "12",
    "TRIO_L": "1./23",
    "TRIO_I": "1/2/3",
    "TETRO_O": "12/34",
    "TETRO_T": "123/.4.",
    "TETRO_I": "1/2/3/4",
    "TETRO_L": "1./2./34",
    "TETRO_Z": "12./.34",
    "PENTO_L": "1./2./3./45",
    "PENTO_T": "123/.4./.5.",
    "PENTO_V": "1../2../345",
    "PENTO_S": ".123/45..",
    "PENTO_Z": "12./.3./.45",
    "PENTO_I": "1/2/3/4/5",
    "PENTO_P": "12/34/5.",
    "PENTO_W": "1../23./.45",
    "PENTO_U": "1.5/234",
    "PENTO_R": "..5/124/.3.",
    "PENTO_X": ".1./234/.5.",
    "PENTO_Y": ".2/13/.4/.5",
}
"""Drawings of the pieces, row by row. The digits give the order in which the official server lists the cells."""


class HashSet:
    """A set of cells that iterates in the order of sixteen buckets, as Java's hash set does."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.buckets: list[list[Cell]] = [[] for _ in range(16)]
        for x, y in cells:
            code = (x * 31 + y) % 2**32
            self.buckets[(code ^ (code // 2**16)) % 16].append((x, y))

    def __iter__(self) -> Iterator[Cell]:
        for bucket in self.buckets:
            yield from bucket


def drawn(piece: str) -> list[Cell]:
    rows = PIECES[piece].split("/")
    found = [(digit, (x, y)) for y, row in enumerate(rows) for x, digit in enumerate(row) if digit != "."]
    return [cell for _, cell in sorted(found)]


def aligned(cells: Iterable[Cell]) -> HashSet:
    listed = list(cells)
    return HashSet((x - min(x for x, _ in listed), y - min(y for _, y in listed)) for x, y in listed)


def cells_of(piece: str, rotation: str, flipped: bool) -> list[Cell]:
    cells: Iterable[Cell] = drawn(piece)
    if rotation == "RIGHT":
        cells = aligned(HashSet((-y, x) for x, y in cells))
    if rotation == "MIRROR":
        cells = aligned(HashSet((-x, -y) for x, y in cells))
    if rotation == "LEFT":
        cells = aligned(HashSet((y, -x) for x, y in cells))
    if flipped:
        cells = aligned((-x, y) for x, y in cells)
    return list(cells)


COMBINATIONS: Final = [(rotation, flipped) for rotation in ROTATIONS for flipped in (False, True)]
CELLS: Final = {
    (piece, rotation, flipped): cells_of(piece, rotation, flipped)
    for piece in PIECES
    for rotation, flipped in COMBINATIONS
}
BOARD: Final = [(x, y) for x in range(20) for y in range(20)]
TOTAL: Final = sum(len(drawn(piece)) for piece in PIECES)


def on_board(cell: Cell) -> bool:
    return 0 <= cell[0] < 20 and 0 <= cell[1] < 20


def sides(cell: Cell) -> list[Cell]:
    x, y = cell
    return [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]


def diagonals(cell: Cell) -> list[Cell]:
    x, y = cell
    return [(x + 1, y + 1), (x + 1, y - 1), (x - 1, y + 1), (x - 1, y - 1)]


@dataclass
class SimpleGame:
    """A mutable game: every move changes it."""

    start: str
    starts_on: str
    """`corner` or `border`"""
    rounds: int
    ends_with_finished_color: bool
    turn: int = 0
    board: dict[Cell, str] = field(default_factory=dict)
    left: dict[str, list[str]] = field(default_factory=lambda: {color: list(PIECES) for color in COLORS})
    in_game: list[str] = field(default_factory=lambda: list(COLORS))
    mono_last: dict[str, bool] = field(default_factory=dict)
    round_of_last_piece: int | None = None

    def color(self) -> str:
        return COLORS[self.turn % 4]

    def round(self) -> int:
        return self.turn // 4 + 1

    def is_first(self, color: str) -> bool:
        return len(self.left[color]) == 21

    def mistake(self, color: str, piece: str, rotation: str, flipped: bool, x: int, y: int) -> str | None:
        if color != self.color():
            return "WRONG_COLOR"
        if self.is_first(color) and piece != self.start:
            return "WRONG_SHAPE"
        if piece not in self.left[color]:
            return "DUPLICATE_SHAPE"
        cells = HashSet((x + dx, y + dy) for dx, dy in CELLS[piece, rotation, flipped])
        for cell in cells:
            if not on_board(cell):
                return "OUT_OF_BOUNDS"
            if cell in self.board:
                return "OBSTRUCTED"
            if any(self.board.get(side) == color for side in sides(cell)):
                return "TOUCHES_SAME_COLOR"
        if self.is_attached(color, cells):
            return None
        if not self.is_first(color):
            return "NO_SHARED_CORNER"
        return "NOT_IN_CORNER" if self.starts_on == "corner" else "NOT_ON_BORDER"

    def skip_mistake(self, color: str) -> str | None:
        if color != self.color():
            return "WRONG_COLOR"
        return "SKIP_FIRST_TURN" if self.is_first(color) else None

    def may_cover(self, color: str, cell: Cell) -> bool:
        return (
            on_board(cell) and cell not in self.board and not any(self.board.get(side) == color for side in sides(cell))
        )

    def is_attached(self, color: str, cells: Iterable[Cell]) -> bool:
        if not self.is_first(color):
            return any(self.board.get(diagonal) == color for cell in cells for diagonal in diagonals(cell))
        if self.starts_on == "corner":
            return any(x in (0, 19) and y in (0, 19) for x, y in cells)
        return any(x in (0, 19) or y in (0, 19) for x, y in cells)

    def legal(self) -> Iterator[tuple[frozenset[Cell], Placement]]:
        """Every legal placement of every remaining piece in every combination; the same cells may occur repeatedly."""
        color = self.color()
        free = {cell for cell in BOARD if self.may_cover(color, cell)}
        attached = {cell for cell in free if self.is_attached(color, [cell])}
        for piece in [self.start] if self.is_first(color) else self.left[color]:
            for rotation, flipped in COMBINATIONS:
                placed = CELLS[piece, rotation, flipped]
                for x, y in BOARD:
                    cells = frozenset([(x + dx, y + dy) for dx, dy in placed])
                    if cells <= free and not cells.isdisjoint(attached):
                        yield cells, (color, piece, rotation, flipped, x, y)

    def legal_once(self) -> dict[frozenset[Cell], Placement]:
        """The same, but for each set of cells only the first placement that covers it."""
        once: dict[frozenset[Cell], Placement] = {}
        for cells, placement in self.legal():
            once.setdefault(cells, placement)
        return once

    def has_legal(self) -> bool:
        return any(True for _ in self.legal())

    def place(self, placement: Placement) -> None:
        assert self.mistake(*placement) is None
        color, piece, rotation, flipped, x, y = placement
        for dx, dy in CELLS[piece, rotation, flipped]:
            self.board[x + dx, y + dy] = color
        self.left[color].remove(piece)
        if not self.left[color]:
            self.mono_last[color] = piece == "MONO"
            if self.round_of_last_piece is None:
                self.round_of_last_piece = self.round()
        self.pass_on()

    def skip(self) -> None:
        assert self.skip_mistake(self.color()) is None
        self.pass_on()

    def pass_on(self) -> None:
        self.turn += 1
        while self.in_game:
            if self.color() not in self.in_game:
                self.turn += 1
            elif not self.has_legal():
                self.in_game.remove(self.color())
                if self.in_game:
                    self.turn += 1
            else:
                return

    def points(self, team: int) -> int:
        total = 0
        for color in TEAMS[team]:
            if self.left[color]:
                total += TOTAL - sum(len(drawn(piece)) for piece in self.left[color])
            elif self.mono_last[color]:
                total += TOTAL + 15 + 5
            else:
                total += TOTAL + 15
        return total

    def is_over(self) -> bool:
        if not self.in_game or self.round() > self.rounds:
            return True
        if self.ends_with_finished_color and self.round_of_last_piece is not None:
            return self.round() > self.round_of_last_piece
        return False
