"""Blokus in pictures: the board, and beside it what each colour has left."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from spielleiter.viewer.pictures import (
    INK_ON,
    LINE,
    MARGIN,
    SMALL,
    TEXT,
    Drawing,
    Picture,
    draw_end,
    draw_heading,
    end_of,
)
from spielleiter.viewer.positions.view import Json

CELL: Final = 25
"""Pixels of a cell, including the line above and to the left of it."""
EDGE: Final = 2
"""The number of cells around the board that are drawn, for coordinates and for pieces that do not fit."""
_PANEL: Final = 340
_MINI: Final = 6
"""Pixels of a cell of the pieces that are left."""
_MINI_GAP: Final = 7
_COLORS: Final = {"B": "BLUE", "Y": "YELLOW", "R": "RED", "G": "GREEN"}


class BlokusDrawing(Drawing):
    """Draws positions of Blokus."""

    def __init__(self, game: Json) -> None:
        super().__init__(game)
        board = game["positions"][0]["board"]
        self._columns, self._rows = board["width"], board["height"]
        self._left = self._top = EDGE * CELL
        self.width = (self._columns + 2 * EDGE) * CELL + MARGIN + _PANEL
        self.height = (self._rows + 2 * EDGE) * CELL

    def draw(self, canvas: Picture, position: Json) -> None:
        canvas.paste(_empty_board(self._columns, self._rows), 0, 0)
        cells = position["board"]["cells"]
        for index, letter in enumerate(cells):
            if letter != ".":
                y, x = divmod(index, self._columns)
                canvas.paste(_tile(letter), *self._place(x, y))
        move, end = position["lastMove"], end_of(self.game, position)
        if move is not None:
            for x, y in move["cells"]:
                left, top = self._place(x, y)
                color = "ink" if move["color"] in {"YELLOW", "GREEN"} else "white"
                canvas.frame(left + 2, top + 2, CELL - 5, CELL - 5, color, 2)
        if end is not None and end["illegal"] is not None:
            illegal = end["illegal"]
            for x, y in illegal["cells"]:
                if not (-EDGE <= x < self._columns + EDGE and -EDGE <= y < self._rows + EDGE):
                    continue
                left, top = self._place(x, y)
                if illegal["color"] in INK_ON:
                    canvas.paste(_tile(illegal["color"][0]), left, top)
                canvas.frame(left, top, CELL - 1, CELL - 1, "fault", 3)
                if [x, y] in illegal["offendingCells"]:
                    canvas.cross(left, top, CELL - 2, 5)
        # the panel beside the board
        left, width = self.width - _PANEL, _PANEL - MARGIN
        top = draw_heading(canvas, self.game, position, left, MARGIN, width)
        side = position["sideToMove"]
        for color in position["colors"]:
            is_to_move = side is not None and side["color"] == color["name"]
            top = self._draw_color(canvas, color, left, top, is_to_move=is_to_move)
        if end is not None:
            draw_end(canvas, end, left, top + 4, width)

    def _place(self, x: int, y: int) -> tuple[int, int]:
        return self._left + x * CELL + 1, self._top + y * CELL + 1

    def _draw_color(self, canvas: Picture, color: Json, left: int, top: int, *, is_to_move: bool) -> int:
        """Draw a colour's letter, points and remaining pieces; return the height at which the next one goes."""
        name = color["name"]
        canvas.badge(left, top, 18, 18, name, SMALL)
        words = f"{name} {color['points']}"
        if not color["remaining"]:
            words += ", all pieces placed"
        elif not color["isInGame"]:
            words += ", cannot place any more"
        elif is_to_move:
            words += ", to move"
        canvas.text(left + 26, top, words, TEXT, width=_PANEL - MARGIN - 26)
        x, y, lowest = left, top + LINE + 3, 0
        for piece in color["remaining"]:
            picture = _piece(name, tuple(map(tuple, self.game["pieces"].get(piece, ()))))
            if x + picture.image.width > left + _PANEL - MARGIN:
                x, y, lowest = left, y + lowest + _MINI_GAP, 0
            canvas.paste(picture, x, y)
            x += picture.image.width + _MINI_GAP
            lowest = max(lowest, picture.image.height)
        return y + lowest + 12


@lru_cache(maxsize=8)
def _tile(letter: str) -> Picture:
    """Return a covered cell, without the lines around it."""
    name = _COLORS[letter]
    tile = Picture(CELL - 1, CELL - 1)
    tile.badge(0, 0, CELL - 1, CELL - 1, name, SMALL)
    return tile


@lru_cache(maxsize=128)
def _piece(color: str, cells: tuple[tuple[int, int], ...]) -> Picture:
    """Return a small picture of a piece."""
    width, height = 1 + max((x for x, _ in cells), default=0), 1 + max((y for _, y in cells), default=0)
    picture = Picture(width * _MINI - 1, height * _MINI - 1)
    for x, y in cells:
        picture.fill(x * _MINI, y * _MINI, _MINI - 1, _MINI - 1, color)
    return picture


@lru_cache(maxsize=4)
def _empty_board(columns: int, rows: int) -> Picture:
    """Return the board without pieces, with the coordinates around it."""
    left = top = EDGE * CELL
    canvas = Picture((columns + 2 * EDGE) * CELL, (rows + 2 * EDGE) * CELL)
    canvas.fill(left, top, columns * CELL + 1, rows * CELL + 1, "board")
    for x in range(columns + 1):
        canvas.fill(left + x * CELL, top, 1, rows * CELL + 1, "line")
    for y in range(rows + 1):
        canvas.fill(left, top + y * CELL, columns * CELL + 1, 1, "line")
    for number in range(columns):
        canvas.centered(left + number * CELL, top - CELL, CELL, CELL, str(number), SMALL, color="muted")
    for number in range(rows):
        canvas.centered(left - CELL, top + number * CELL, CELL, CELL, str(number), SMALL, color="muted")
    return canvas


DRAWING: Final = BlokusDrawing
