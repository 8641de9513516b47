"""Draws Hase und Igel: the track in rows, the players on it, and below it what they hold.

Invariants: every field has its number and the first letters of its type; every player has the letter of its colour.
"""

from __future__ import annotations

from typing import Final

from spielleiter.viewer.exports.canvas import INK_ON, Canvas
from spielleiter.viewer.exports.drawing import LINE, MARGIN, SMALL, TEXT, Drawing, draw_end, draw_heading, end_of
from spielleiter.viewer.positions.view import Json

_IN_A_ROW: Final = 13
_FIELD: Final = 68
_MOST_FIELDS: Final = 65
"""A file may describe a longer track than the game has; the rest is not drawn."""

_WORDS: Final = {
    "START": "start",
    "CARROT": "carrots",
    "HARE": "hare",
    "POSITION_1": "pos. 1",
    "POSITION_2": "pos. 2",
    "HEDGEHOG": "hedgehog",
    "SALAD": "salad",
    "GOAL": "goal",
}


class HaseUndIgelDrawing(Drawing):
    """Draws positions of Hase und Igel."""

    width = 2 * MARGIN + _IN_A_ROW * _FIELD
    height = 540

    def draw(self, canvas: Canvas, position: Json) -> None:
        for field in position["track"][:_MOST_FIELDS]:
            self._draw_field(canvas, field, position)
        top = MARGIN + -(-_MOST_FIELDS // _IN_A_ROW) * _FIELD + 10
        half = (self.width - 2 * MARGIN) // 2 - 10
        bottom = draw_heading(canvas, self.game, position, MARGIN, top, half)
        end = end_of(self.game, position)
        if end is not None:
            draw_end(canvas, end, MARGIN, bottom, half)
        left = MARGIN + half + 20
        for player in position["players"]:
            canvas.fill(left, top, 18, 18, player["color"])
            canvas.centered(
                left, top, 18, 18, player["color"][0], SMALL, color=INK_ON[player["color"]], background=player["color"]
            )
            words = f"field {player['field']}, {player['carrots']} carrots, {player['salads']} salads"
            canvas.text(left + 26, top, words, TEXT, width=half - 26)
            cards = ", ".join(card.replace("_", " ").lower() for card in player["cards"]) or "none"
            canvas.text(left + 26, top + LINE, f"cards: {cards}", SMALL, color="muted", width=half - 26)
            top += 2 * LINE + 10

    def _draw_field(self, canvas: Canvas, field: Json, position: Json) -> None:
        row, column = divmod(field["index"], _IN_A_ROW)
        left, top = MARGIN + column * _FIELD, MARGIN + row * _FIELD
        canvas.fill(left, top, _FIELD - 3, _FIELD - 3, "board")
        canvas.text(left + 3, top + 2, str(field["index"]), SMALL, color="muted", background="board")
        word = _WORDS[field["type"]]
        canvas.text(left + 3, top + 48, word, SMALL, background="board", width=_FIELD - 8)
        here = [player for player in position["players"] if player["field"] == field["index"]]
        for number, player in enumerate(here):
            name, x = player["color"], left + 3 + 28 * number
            canvas.fill(x, top + 18, 26, 24, name)
            canvas.centered(x, top + 18, 26, 24, name[0], TEXT, color=INK_ON[name], background=name)
