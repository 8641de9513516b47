"""Mississippi Queen in pictures: the river, and below it what each ship has."""

from __future__ import annotations

from typing import Final

from spielleiter.viewer.pictures import MARGIN, SMALL, TEXT, Drawing, Picture, draw_below
from spielleiter.viewer.positions.view import Json

_HALF: Final = 15  # pixels of half a hex
_COLUMNS, _ROWS = 4, 5
_MARKS: Final = {"i": "#", "s": ":", "g": "G", "p": "P", "w": ""}
_RIVER: Final = 600
"""The height of the space for the river."""
_NAMES: Final = ("right", "down right", "down left", "left", "up left", "up right")


def places_of(segment: Json) -> list[tuple[int, int]]:
    """Return the coordinates of a segment's fields, in their order."""
    found = []
    for number in range(_COLUMNS * _ROWS):
        r = number % _ROWS - 2
        q = number // _ROWS - 1 - max(r, 0)
        for _ in range(segment["direction"]):
            q, r = -r, q + r
        found.append((q + segment["center"][0], r + segment["center"][1]))
    return found


class MississippiQueenDrawing(Drawing):
    """Draws positions of Mississippi Queen."""

    width = 1000
    height = _RIVER + 170

    def draw(self, canvas: Picture, position: Json) -> None:
        segments = position["river"]["segments"]
        fields = [
            (place, letter, number in segment["currents"])
            for segment in segments
            for number, (place, letter) in enumerate(zip(places_of(segment), segment["fields"], strict=True))
        ]
        left = min(2 * q + r for (q, r), _, _ in fields)
        right = max(2 * q + r for (q, r), _, _ in fields) + 2
        top, bottom = min(r for (_, r), _, _ in fields), max(r for (_, r), _, _ in fields) + 1
        half = max(4, min(_HALF, (self.width - 2 * MARGIN) // (right - left), _RIVER // (2 * (bottom - top))))
        size = SMALL if half < _HALF else TEXT

        def corner(q: int, r: int) -> tuple[int, int]:
            return MARGIN + (2 * q + r - left) * half, MARGIN + 2 * (r - top) * half

        for (q, r), letter, has_current in fields:
            x, y = corner(q, r)
            canvas.fill(x, y, 2 * half - 2, 2 * half - 2, "line" if letter == "i" else "board")
            canvas.centered(x, y, 2 * half - 2, 2 * half - 2, "~" if has_current else _MARKS.get(letter, ""), size)
        for seat, player in enumerate(position["players"]):
            x, y = corner(*player["position"])
            width = 2 * half - 2
            if position["players"][1 - seat]["position"] == player["position"]:
                x, width = x + seat * half, half
            canvas.fill(x, y, width, 2 * half - 2, player["color"])
            canvas.centered(x, y, width, 2 * half - 2, str(seat + 1), size, color="white")
        draw_below(canvas, self.game, position, MARGIN + _RIVER + 10, _lines_of)


def _lines_of(player: Json) -> tuple[str, str]:
    numbers = f"{player['passengers']} passengers, speed {player['speed']}, {player['coal']} coal"
    return numbers, f"to the {_NAMES[player['direction']]}"


DRAWING: Final = MississippiQueenDrawing
