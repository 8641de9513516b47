"""Penguins in pictures: the board, and beside it what each player has."""

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

_HALF: Final = 24
"""Pixels of half a cell."""
_CELL: Final = 2 * _HALF
_PANEL: Final = 340
_COLORS: Final = {"R": "RED", "B": "BLUE"}
_DOTS: Final = {"1": ((0, 0),), "2": ((-1, 0), (1, 0)), "3": ((0, -1), (-1, 1), (1, 1))}
_DOTS_OF_4: Final = ((-1, -1), (1, -1), (-1, 1), (1, 1))


class PenguinsDrawing(Drawing):
    """Draws positions of Penguins."""

    def __init__(self, game: Json) -> None:
        super().__init__(game)
        self._size = game["positions"][0]["board"]["size"]
        self.width = (2 * self._size + 1) * _HALF + _CELL + MARGIN + _PANEL
        self.height = (self._size + 1) * _CELL + MARGIN

    def draw(self, canvas: Picture, position: Json) -> None:
        for x in range(2 * self._size):
            left, _ = self._place(x, 0)
            canvas.centered(left, self._place(0, self._size)[1], _CELL, _CELL // 2, str(x), SMALL, color="muted")
        for y in range(self._size):
            canvas.centered(0, self._place(0, y)[1], _CELL, _CELL, str(y), SMALL, color="muted")
        for index, sign in enumerate(position["board"]["cells"]):
            y, column = divmod(index, self._size)
            self._draw_cell(canvas, *self._place(2 * column + y % 2, y), sign)
        draw_marks(canvas, self.game, position, _CELL, self._place)
        draw_beside(canvas, self.game, position, self.width - _PANEL, _lines_of)

    def _place(self, x: int, y: int) -> tuple[int, int]:
        """Return where a cell begins; the row 0 is the highest one."""
        return _CELL + x * _HALF, MARGIN + y * _CELL

    def _draw_cell(self, canvas: Picture, left: int, top: int, sign: str) -> None:
        if sign in _COLORS:
            canvas.fill(left + 4, top + 4, _CELL - 9, _CELL - 9, _COLORS[sign])
            canvas.centered(left, top, _CELL, _CELL, sign, TEXT, color="white")
        elif sign != ".":
            canvas.fill(left, top, _CELL - 1, _CELL - 1, "board")
            for dx, dy in _DOTS.get(sign, _DOTS_OF_4):
                canvas.fill(left + _HALF + 9 * dx - 5, top + _HALF + 9 * dy - 4, 9, 7, "muted")


def _lines_of(player: Json) -> tuple[str]:
    return (f"{player['fish']} fish, {player['toPlace']} to place, {player['stuck']} stuck",)


DRAWING: Final = PenguinsDrawing
