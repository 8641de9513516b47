"""Penguins in a terminal: the board in rows of hexagons, and what each player has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spielleiter.common.text import wrapped
from spielleiter.game.penguins import PENGUINS, SIZE, PenguinsState
from spielleiter.viewer.games.penguins.view import COLORS, LETTERS, WATER, count_stuck, letters
from spielleiter.viewer.terminal import Canvas, TerminalDrawing, player_name

_STYLES: Final[Mapping[str, Mapping[str, Any]]] = {
    LETTERS[0]: {"fg": "bright_white", "bg": "red"},
    LETTERS[1]: {"fg": "bright_white", "bg": "blue"},
}
_COLUMNS: Final = 2 + 4 * SIZE
_BESIDE: Final = 24
"""The columns that the text beside the board needs at least."""


def _draw(state: PenguinsState, names: tuple[str, str], canvas: Canvas) -> list[str] | None:
    """The board with the row 0 above, and the text beside it, or below it on a narrow canvas.

    Rows with an even number have the even numbers of x above them, the others have the odd ones below them.
    """
    if canvas.columns < _COLUMNS:
        return None
    cells = letters(state)
    board = ["  " + _numbers(0)]
    for y in range(SIZE):
        row = [canvas.empty if each == WATER else each for each in cells[y * SIZE : (y + 1) * SIZE]]
        shown = "   ".join(canvas.style(each, **_STYLES.get(each, {})) for each in row)
        board.append(f"{y} {'  ' * (y % 2)}{shown}{'  ' * (1 - y % 2)}")
    board.append("    " + _numbers(1))
    is_beside = canvas.columns >= _COLUMNS + 3 + _BESIDE
    text = _text(state, names, canvas.columns - _COLUMNS - 3 if is_beside else canvas.columns)
    if not is_beside:
        lines = [line.rstrip() for line in (*board, *text)]
    else:
        height = max(len(board), len(text))
        left = [board[0].ljust(_COLUMNS - 1), *board[1:-1], board[-1].ljust(_COLUMNS - 1)]
        left += [" " * (_COLUMNS - 1)] * (height - len(board))
        right = [*text, *[""] * (height - len(text))]
        lines = [f"{cells}    {words}".rstrip() for cells, words in zip(left, right, strict=True)]
    return lines if len(lines) <= canvas.rows else None


def _numbers(first: int) -> str:
    return "".join(f"{x:<4}" for x in range(first, 2 * SIZE, 2)).rstrip()


def _text(state: PenguinsState, names: tuple[str, str], columns: int) -> list[str]:
    lines = []
    for seat, color in enumerate(COLORS):
        left, stuck = PENGUINS - state.penguins[seat].bit_count(), count_stuck(state, seat)
        what = f"{LETTERS[seat]} {color} {player_name(names, seat)}: {state.fish[seat]} fish"
        if left:
            what += f", {left} to place"
        if stuck:
            what += f", {stuck} stuck"
        lines += wrapped(what, columns)
    ending = "the game is over"
    if state.outcome() is None:
        ending = f"next: {COLORS[state.seat_on_turn]} ({player_name(names, state.seat_on_turn)})"
    lines += wrapped(f"turn {state.turn}, round {state.round}, {ending}", columns)
    if state.last_move is not None:
        lines += wrapped(f"last: {state.last_move}", columns)
    return [*lines, *wrapped("1 to 4: fish on a floe; R and B: penguins", columns)]


DRAWING: Final = TerminalDrawing(_draw)
