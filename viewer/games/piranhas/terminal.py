"""Piranhas in a terminal: the board with its swarms, and what each player has."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from spielleiter.common.text import count_text, wrapped
from spielleiter.game.piranhas.board import SIZE
from spielleiter.game.piranhas.state import PiranhasState
from spielleiter.viewer.games.piranhas.view import LETTERS, letters
from spielleiter.viewer.positions.view import TEAM_COLORS
from spielleiter.viewer.terminal import TEAM_STYLES, Canvas, TerminalDrawing, player_name, progress, with_text

_STYLES: Final[Mapping[str, Mapping[str, Any]]] = {
    **{sign: style for signs, style in zip(LETTERS, TEAM_STYLES, strict=True) for sign in signs},
    "x": {"fg": "magenta", "bold": True},
}
_COLUMNS: Final = 2 + 2 * SIZE
_BESIDE: Final = 24
"""The columns that the text beside the board needs at least."""


def _draw(state: PiranhasState, names: tuple[str, str], canvas: Canvas) -> list[str] | None:
    """The board with the row 0 below, and the text beside it, or below it on a narrow canvas."""
    if canvas.columns < _COLUMNS:
        return None
    cells = letters(state)
    board = []
    for y in reversed(range(SIZE)):
        row = (canvas.empty if each == "." else each for each in cells[y * SIZE : (y + 1) * SIZE])
        board.append(f"{y} " + "".join(canvas.style(each, **_STYLES.get(each, {})) + " " for each in row))
    board.append("  " + "".join(f"{x} " for x in range(SIZE)))
    return with_text(canvas, board, _COLUMNS, _BESIDE, partial(_text, state, names))


def _text(state: PiranhasState, names: tuple[str, str], columns: int) -> list[str]:
    lines = []
    for seat, color in enumerate(TEAM_COLORS):
        fish = state.fish[seat]
        swarms = count_text(sum(1 for _ in fish.swarms()), "swarm")
        what = f"{LETTERS[seat]} {color} {player_name(names, seat)}: heaviest swarm {max(fish.largest_swarm, 0)}, "
        lines += wrapped(f"{what}{fish.cells.bit_count()} fish in {swarms}", columns)
    lines += progress(state, names, TEAM_COLORS[state.seat_on_turn], columns)
    return [*lines, *wrapped("1 to 3, a to c: small to large; x: squid", columns)]


DRAWING: Final = TerminalDrawing(_draw)
