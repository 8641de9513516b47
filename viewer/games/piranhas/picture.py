"""Piranhas in pictures: the board, and beside it what each player has."""

from __future__ import annotations

from typing import Final

from spielleiter.viewer.pictures import (
    MARGIN,
    SMALL,
    TEXT,
    Drawing,
    Picture,
    draw_beside,
    draw_marks,
)
from spielleiter.viewer.positions.view import Json

_CELL: Final = 48
_PANEL: Final = 340
_COLORS: Final = {**dict.fromkeys("123", "RED"), **dict.fromkeys("abc", "BLUE")}
_MARGINS: Final = (13, 8, 3)
"""For each size of a fish the pixels between it and the border of its cell."""


class PiranhasDrawing(Drawing):
    """Draws positions of Piranhas."""

    def __init__(self, game: Json) -> None:
        super().__init__(game)
        self._size = game["positions"][0]["board"]["width"]
        self.width = (self._size + 1) * _CELL + MARGIN + _PANEL
        self.height = (self._size + 1) * _CELL + MARGIN

    def draw(self, canvas: Picture, position: Json) -> None:
        board = position["board"]
        for number in range(self._size):
            left, top = self._place(number, number)
            canvas.centered(left, self._place(0, -1)[1], _CELL, _CELL // 2, str(number), SMALL, color="muted")
            canvas.centered(0, top, _CELL, _CELL, str(number), SMALL, color="muted")
        for index, sign in enumerate(board["cells"]):
            y, x = divmod(index, self._size)
            self._draw_cell(canvas, *self._place(x, y), sign)
        draw_marks(canvas, self.game, position, _CELL, self._place)
        draw_beside(canvas, self.game, position, self.width - _PANEL, _lines_of)

    def _place(self, x: int, y: int) -> tuple[int, int]:
        """Return where a cell begins; the row 0 is the lowest one."""
        return _CELL + x * _CELL, MARGIN + (self._size - 1 - y) * _CELL

    def _draw_cell(self, canvas: Picture, left: int, top: int, sign: str) -> None:
        canvas.fill(left, top, _CELL - 1, _CELL - 1, "board")
        if sign == "x":
            canvas.frame(left + 6, top + 6, _CELL - 13, _CELL - 13, "muted", 4)
            canvas.centered(left, top, _CELL, _CELL, "X", TEXT, color="muted")
        elif sign in _COLORS:
            name, size = _COLORS[sign], "123".find(sign) + "abc".find(sign) + 1
            margin, edge = _MARGINS[size], _CELL - 1 - 2 * _MARGINS[size]
            canvas.fill(left + margin, top + margin, edge, edge, name)
            canvas.centered(left + margin, top + margin, edge, edge, f"{name[0]}{size + 1}", SMALL, color="white")


def _lines_of(player: Json) -> tuple[str]:
    return (f"heaviest swarm {player['swarm']}, {player['fish']} fish, {player['swarms']} swarms",)


DRAWING: Final = PiranhasDrawing
