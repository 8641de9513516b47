"""`Drawing`: how the positions of one game are drawn on a canvas, and the table for games without a drawing.

Invariants: a drawing uses only the JSON of a game. Colours are never the only difference: everything coloured has a
letter as well.
"""

from __future__ import annotations

from typing import Any, Final

from spielleiter.viewer.exports.canvas import Canvas, wrapped_text
from spielleiter.viewer.positions.view import Json

MARGIN: Final = 16
TITLE: Final = 20
TEXT: Final = 15
SMALL: Final = 12
LINE: Final = 21
"""Pixels from one line of text to the next."""


class Drawing:
    """Draws positions of a game without a drawing of its own: its fields as a table. Base class of the others."""

    width = 640
    height = 560

    def __init__(self, game: Json) -> None:
        self.game = game

    def draw(self, canvas: Canvas, position: Json) -> None:
        """Draw `position` on an empty canvas of `width` by `height`."""
        top = draw_heading(canvas, self.game, position, MARGIN, MARGIN, self.width - 2 * MARGIN)
        for key, value in list(position.get("fields", {}).items())[:18]:
            canvas.text(MARGIN, top, f"{key}: {value}", TEXT, width=self.width - 2 * MARGIN)
            top += LINE


def draw_heading(canvas: Canvas, game: Json, position: Json, left: int, top: int, width: int) -> int:
    """Write the names, the points and the state of the game; return the height at which the next line goes."""
    end = end_of(game, position)
    final = [player["points"] for player in position["players"]] if end is None else end["points"]
    for number, (player, points) in enumerate(zip(game["players"], final, strict=True), 1):
        canvas.text(left, top, player["name"] or f"Player {number}", TITLE, width=width - 70)
        canvas.right_aligned(left + width, top, str(points), TITLE)
        top += 28
    last = len(game["positions"]) - 1
    place = f"Ply {position['ply']} of {last}, turn {position['turn']}, round {position['round']}"
    canvas.text(left, top, place, TEXT, color="muted")
    top += LINE
    move = position["lastMove"]
    canvas.text(left, top, "" if move is None else move["text"], TEXT, width=width)
    return top + LINE + 6


def end_of(game: Json, position: Json) -> Json | None:
    """Return the end of the game, if `position` is the last one and the game has ended."""
    end: Json | None = game["end"]
    return end if position["ply"] == len(game["positions"]) - 1 else None


def draw_end(canvas: Canvas, end: Json, left: int, top: int, width: int) -> int:
    """Write how the game ended, and which rule was broken; return the height at which the next line goes."""
    texts: list[tuple[str, Any]] = [("ink", end["words"]["en"])]
    if end["illegal"] is not None:
        texts.append(("fault", end["illegal"]["rule"]))
    for color, text in texts:
        for line in wrapped_text(text, TEXT, width, 3):
            canvas.text(left, top, line, TEXT, color=color, width=width)
            top += LINE
    return top
