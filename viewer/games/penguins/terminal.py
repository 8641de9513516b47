"""Penguins in a terminal: the board in rows of hexagons, and what each player has."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from spielleiter.common.text import wrapped
from spielleiter.game.penguins import PENGUINS, SIZE, PenguinsState
from spielleiter.viewer.games.penguins.view import LETTERS, WATER, count_stuck, letters
from spielleiter.viewer.positions.view import TEAM_COLORS
from spielleiter.viewer.terminal import TEAM_STYLES, Canvas, TerminalDrawing, player_name, progress, with_text

_STYLES: Final[Mapping[str, Mapping[str, Any]]] = dict(zip(LETTERS, TEAM_STYLES, strict=True))
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
        shown = "".join(canvas.style(each, **_STYLES.get(each, {})) + "   " for each in row)
        board.append(f"{y} {'  ' * (y % 2)}{shown[: -2 * (y % 2) or None]}")
    board.append("    " + _numbers(1))
    return with_text(canvas, board, _COLUMNS, _BESIDE, partial(_text, state, names))


def _numbers(first: int) -> str:
    return "".join(f"{x:<4}" for x in range(first, 2 * SIZE, 2))[: -2 * first or None]


def _text(state: PenguinsState, names: tuple[str, str], columns: int) -> list[str]:
    lines = []
    for seat, color in enumerate(TEAM_COLORS):
        left, stuck = PENGUINS - state.penguins[seat].bit_count(), count_stuck(state, seat)
        what = f"{LETTERS[seat]} {color} {player_name(names, seat)}: {state.fish[seat]} fish"
        if left:
            what += f", {left} to place"
        if stuck:
            what += f", {stuck} stuck"
        lines += wrapped(what, columns)
    lines += progress(state, names, TEAM_COLORS[state.seat_on_turn], columns)
    return [*lines, *wrapped("1 to 4: fish on a floe; R and B: penguins", columns)]


DRAWING: Final = TerminalDrawing(_draw)
