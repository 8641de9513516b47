"""Blokus in a terminal: the board, and beside or below it what each colour has left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from spielleiter.common.text import count_text, wrapped
from spielleiter.game.blokus.moves import SetMove
from spielleiter.game.blokus.pieces import SIZE, Color, orientation
from spielleiter.game.blokus.state import SEAT_OF_COLOR, BlokusState
from spielleiter.viewer.terminal import GAP, Canvas, TerminalDrawing, beside, next_player, player_name, progress

_COLORS: Final = tuple(Color)
_STYLES: Final[Mapping[Color, Mapping[str, str]]] = {
    Color.BLUE: {"fg": "bright_white", "bg": "blue"},
    Color.YELLOW: {"fg": "black", "bg": "yellow"},
    Color.RED: {"fg": "bright_white", "bg": "red"},
    Color.GREEN: {"fg": "black", "bg": "green"},
}
_LABEL: Final = 3  # columns for the row number
_PANEL: Final = 33


def _draw(state: BlokusState, names: tuple[str, str], canvas: Canvas) -> list[str] | None:
    """The board with two columns for each cell, or one if two are too wide; the rest is beside or below the board."""
    cell_width = 2 if canvas.columns >= _LABEL + 2 * SIZE else 1
    width = _LABEL + cell_width * SIZE
    if canvas.columns < width or canvas.rows < SIZE:
        return None
    board = list(_rows(state, canvas, cell_width))
    if canvas.rows < len(board):
        return [row.rstrip() for row in board[1:]]
    columns = canvas.columns - width - len(GAP)
    if columns >= _PANEL:
        return beside(board, width, _panel(state, names, canvas, columns))
    return [row.rstrip() for row in board] + _summary(state, names, canvas)[: canvas.rows - len(board)]


def _rows(state: BlokusState, canvas: Canvas, cell_width: int) -> Iterator[str]:
    """The column numbers, then the rows; the cells of the last piece have a second letter."""
    numbers = (str(x) if cell_width > 1 else str(x % 10) for x in range(0, SIZE, 2))
    yield " " * _LABEL + "".join(number.ljust(2 * cell_width) for number in numbers)
    last: frozenset[tuple[int, int]] = frozenset()
    if isinstance(move := state.last_move, SetMove):
        turned = orientation(move.shape, move.rotation, move.is_flipped)
        last = frozenset((move.x + x, move.y + y) for x, y in turned.cells)
    for y in range(SIZE):
        cells = []
        for x in range(SIZE):
            color = state.color_at(x, y)
            if color is None:
                cells.append(canvas.style(canvas.empty, dim=True) + " " * (cell_width - 1))
            else:
                letter = color.name[0]
                text = letter * cell_width if (x, y) in last else letter.ljust(cell_width)
                cells.append(canvas.style(text, bold=(x, y) in last, **_STYLES[color]))
        yield f"{y:2} " + "".join(cells)


def _panel(state: BlokusState, names: tuple[str, str], canvas: Canvas, columns: int) -> list[str]:
    """The text beside the board."""
    lines = ["", f"turn {state.turn}, round {state.round}", ""]
    for seat in range(2):
        (points,) = state.points(seat)
        lines.append(f"{player_name(names, seat)}: {points} points")
        for color in _COLORS:
            if SEAT_OF_COLOR[color] == seat:
                letter = canvas.style(f"{color.name[0]} ", **_STYLES[color])
                count = len(state.remaining_shapes(color))
                left = f"{count_text(count, 'piece')} left" if count else "all pieces placed"
                is_out = count and not state.valid_mask >> color & 1
                lines.append(f"  {letter} {color.name:6}  {left}{', out' if is_out else ''}")
        lines.append("")
    lines += wrapped(next_player(state, names, state.color_on_turn.name), columns)
    if state.last_move is not None:
        lines += wrapped(f"last: {state.last_move}", columns)
    return lines


def _summary(state: BlokusState, names: tuple[str, str], canvas: Canvas) -> list[str]:
    """The text below the board, with the most important line first."""
    sides = []
    for seat in range(2):
        letters = "".join(color.name[0] for color in _COLORS if SEAT_OF_COLOR[color] == seat)
        (points,) = state.points(seat)
        sides.append(f"{letters} {player_name(names, seat)} {points}")
    return wrapped(" : ".join(sides), canvas.columns) + progress(state, names, state.color_on_turn.name, canvas.columns)


DRAWING: Final = TerminalDrawing(
    _draw, [[color.name for color in _COLORS if SEAT_OF_COLOR[color] == seat] for seat in range(2)]
)
