"""A position as a PNG file, and a whole game as an animated GIF.

Invariants: the same game gives the same bytes with the same version of Pillow.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from spielleiter.viewer.exports.blokus import BlokusDrawing
from spielleiter.viewer.exports.canvas import Canvas
from spielleiter.viewer.exports.drawing import Drawing
from spielleiter.viewer.exports.hase_und_igel import HaseUndIgelDrawing
from spielleiter.viewer.positions.view import Json

_DRAWINGS: Final[Mapping[str, type[Drawing]]] = MappingProxyType(
    {"blokus": BlokusDrawing, "hase_und_igel": HaseUndIgelDrawing}
)
"""The drawing of each game, by the name of its view. A game without one is drawn as a table."""

FRAME: Final = 500
"""Milliseconds for which an animation shows a position."""
LAST_FRAME: Final = 4000
"""Milliseconds for which it shows the last position."""


def draw_position(game: Json, ply: int) -> Canvas:
    """Return the picture of the position after `ply` moves; negative numbers count from the end."""
    return _draw(_DRAWINGS.get(game["game"], Drawing)(game), game["positions"][ply])


def _draw(drawing: Drawing, position: Json) -> Canvas:
    canvas = Canvas(drawing.width, drawing.height)
    drawing.draw(canvas, position)
    return canvas


def render_png(game: Json, ply: int = -1) -> bytes:
    """Return the picture of the position after `ply` moves as a PNG file; negative numbers count from the end."""
    buffer = io.BytesIO()
    draw_position(game, ply).image.save(buffer, "PNG")
    return buffer.getvalue()


def render_gif(game: Json) -> bytes:
    """Return all positions of a game as an animated GIF file, which is repeated without end."""
    drawing = _DRAWINGS.get(game["game"], Drawing)(game)
    frames = [_draw(drawing, position).image for position in game["positions"]]
    durations = [FRAME] * (len(frames) - 1) + [LAST_FRAME]
    buffer = io.BytesIO()
    frames[0].save(
        buffer,
        "GIF",
        save_all=True,
        append_images=frames[1:],
        duration=durations if len(frames) > 1 else LAST_FRAME,
        loop=0,
        optimize=False,
    )
    return buffer.getvalue()
