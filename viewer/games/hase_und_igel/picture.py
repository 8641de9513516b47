"""Hase und Igel in pictures: the track, and below it what each player holds."""

from __future__ import annotations

from typing import Final

from spielleiter.viewer.pictures import MARGIN, SMALL, TEXT, Drawing, Picture, draw_below
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

    def draw(self, canvas: Picture, position: Json) -> None:
        for field in position["track"][:_MOST_FIELDS]:
            row, column = divmod(field["index"], _IN_A_ROW)
            left, top = MARGIN + column * _FIELD, MARGIN + row * _FIELD
            canvas.fill(left, top, _FIELD - 3, _FIELD - 3, "board")
            canvas.text(left + 3, top + 2, str(field["index"]), SMALL, color="muted")
            canvas.text(left + 3, top + 48, _WORDS[field["type"]], SMALL, width=_FIELD - 8)
            here = [player["color"] for player in position["players"] if player["field"] == field["index"]]
            for number, name in enumerate(here):
                x = left + 3 + 28 * number
                canvas.badge(x, top + 18, 26, 24, name, TEXT)
        top = MARGIN + -(-_MOST_FIELDS // _IN_A_ROW) * _FIELD + 10
        draw_below(canvas, self.game, position, top, _lines_of)


def _lines_of(player: Json) -> tuple[str, str]:
    cards = ", ".join(card.replace("_", " ").lower() for card in player["cards"]) or "none"
    return f"field {player['field']}, {player['carrots']} carrots, {player['salads']} salads", f"cards: {cards}"


DRAWING: Final = HaseUndIgelDrawing
