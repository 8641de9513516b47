"""Piranhas in a terminal: the board with its swarms, and what each player has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spielleiter.common.text import count_text, wrapped
from spielleiter.game.piranhas.board import SIZE
from spielleiter.game.piranhas.state import PiranhasState
from spielleiter.viewer.games.piranhas.view import COLORS, LETTERS, letters
from spielleiter.viewer.terminal import Canvas, TerminalDrawing, player_name

_STYLES: Final[Mapping[str, Mapping[str, Any]]] = {
    **{sign: {"fg": "bright_white", "bg": "red"} for sign in LETTERS[0]},
    **{sign: {"fg": "bright_white", "bg": "blue"} for sign in LETTERS[1]},
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
        board.append(f"{y} " + " ".join(canvas.style(each, **_STYLES.get(each, {})) for each in row))
    board.append("  " + " ".join(str(x) for x in range(SIZE)))
    is_beside = canvas.columns >= _COLUMNS + 3 + _BESIDE
    text = _text(state, names, canvas.columns - _COLUMNS - 3 if is_beside else canvas.columns)
    if not is_beside:
        lines = [*board, *text]
    else:
        lines = [
            f"{left or ' ' * (_COLUMNS - 1)}    {right}".rstrip() if right else left
            for left, right in zip(
                [*board, *[""] * (len(text) - len(board))], [*text, *[""] * (len(board) - len(text))], strict=True
            )
        ]
    return lines if len(lines) <= canvas.rows else None


def _text(state: PiranhasState, names: tuple[str, str], columns: int) -> list[str]:
    lines = []
    for seat, color in enumerate(COLORS):
        fish = state.fish[seat]
        swarms = count_text(sum(1 for _ in fish.swarms()), "swarm")
        what = f"{LETTERS[seat]} {color} {player_name(names, seat)}: heaviest swarm {max(fish.largest_swarm, 0)}, "
        lines += wrapped(f"{what}{fish.cells.bit_count()} fish in {swarms}", columns)
    ending = "the game is over"
    if state.outcome() is None:
        ending = f"next: {COLORS[state.seat_on_turn]} ({player_name(names, state.seat_on_turn)})"
    lines += wrapped(f"turn {state.turn}, round {state.round}, {ending}", columns)
    if state.last_move is not None:
        lines += wrapped(f"last: {state.last_move}", columns)
    return [*lines, *wrapped("1 to 3, a to c: small to large; x: squid", columns)]


DRAWING: Final = TerminalDrawing(_draw)
