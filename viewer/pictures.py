"""Pictures of a game: a position as a PNG file, a whole game as an animated GIF.

Needs Pillow. Every picture is saved with the same palette, so that an animation needs one only. Between two colours
that meet in text, the palette has some in between, for smooth edges. Colours are never the only difference: everything
coloured has a letter as well.
"""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from PIL import Image, ImageDraw, ImageFont

from spielleiter.common.imports import imported_if_there
from spielleiter.common.text import escaped
from spielleiter.viewer.positions.view import Json

_STEPS: Final = 8
"""The number of colours from the background of a text to its ink."""

PAPER: Final = (250, 249, 246)
INK: Final = (33, 33, 36)
_BASE: Final = {
    "paper": PAPER,
    "ink": INK,
    "board": (232, 229, 221),
    "line": (205, 201, 191),
    "muted": (120, 117, 110),
    "BLUE": (38, 92, 190),
    "YELLOW": (244, 200, 60),
    "RED": (200, 52, 48),
    "GREEN": (60, 160, 92),
    "fault": (214, 0, 147),
    "white": (255, 255, 255),
}
_TEXTS: Final = (
    ("paper", "ink"),
    ("paper", "muted"),
    ("paper", "fault"),
    ("board", "ink"),
    ("board", "muted"),
    ("BLUE", "white"),
    ("YELLOW", "ink"),
    ("RED", "white"),
    ("GREEN", "ink"),
)
"""The pairs of background and ink that occur in texts."""

INK_ON: Final = {"BLUE": "white", "YELLOW": "ink", "RED": "white", "GREEN": "ink"}
"""The colour of a letter on a colour of the game."""


def _make_palette() -> Image.Image:
    """Return an image whose palette has every colour, and the mixtures for texts."""
    colors = list(_BASE.values())
    for back, ink in _TEXTS:
        for step in range(1, _STEPS - 1):
            share = step / (_STEPS - 1)
            red, green, blue = (round(a + (b - a) * share) for a, b in zip(_BASE[back], _BASE[ink], strict=True))
            colors.append((red, green, blue))
    image = Image.new("P", (1, 1))
    image.putpalette([part for color in colors for part in color])
    return image


_PALETTE: Final = _make_palette()


@lru_cache(maxsize=16)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _width(text: str, size: int) -> int:
    return round(_font(size).getlength(text))


class Picture:
    """An image of `width` by `height` pixels, empty at first."""

    def __init__(self, width: int, height: int) -> None:
        self.image = Image.new("RGB", (width, height), PAPER)
        self._draw = ImageDraw.Draw(self.image)

    def fill(self, left: int, top: int, width: int, height: int, color: str) -> None:
        """Fill a rectangle."""
        self._draw.rectangle((left, top, left + width - 1, top + height - 1), fill=_BASE[color])

    def frame(self, left: int, top: int, width: int, height: int, color: str, thickness: int = 1) -> None:
        """Draw the outline of a rectangle, inside of it."""
        self._draw.rectangle((left, top, left + width - 1, top + height - 1), outline=_BASE[color], width=thickness)

    def line(self, start: tuple[int, int], end: tuple[int, int], color: str, thickness: int = 1) -> None:
        """Draw a line."""
        self._draw.line((*start, *end), fill=_BASE[color], width=thickness)

    def cross(self, left: int, top: int, size: int, inset: int) -> None:
        """Cross out a square of `size` pixels, but for `inset` pixels at each side."""
        near, far = inset, size - inset
        self.line((left + near, top + near), (left + far, top + far), "fault", 3)
        self.line((left + near, top + far), (left + far, top + near), "fault", 3)

    def paste(self, other: Picture, left: int, top: int) -> None:
        """Copy another canvas to this place."""
        self.image.paste(other.image, (left, top))

    def text(self, left: int, top: int, text: str, size: int, *, color: str = "ink", width: int | None = None) -> None:
        """Draw a line of text; it is cut where it would be wider than `width` pixels.

        Its colour and that of the space below it have to be one of the pairs of texts.
        """
        line = fitted(escaped(text), size, self.image.width - left if width is None else width)
        self._draw.text((left, top), line, fill=_BASE[color], font=_font(size))

    def centered(
        self, left: int, top: int, width: int, height: int, text: str, size: int, *, color: str = "ink"
    ) -> None:
        """Draw a short text in the middle of a rectangle."""
        box = _font(size).getbbox(text)
        x = left + round((width - (box[2] - box[0])) / 2 - box[0])
        y = top + round((height - (box[3] - box[1])) / 2 - box[1])
        self.text(x, y, text, size, color=color)

    def badge(self, left: int, top: int, width: int, height: int, name: str, size: int) -> None:
        """Draw a rectangle in a colour of the game, with the colour's letter in the middle."""
        self.fill(left, top, width, height, name)
        self.centered(left, top, width, height, name[0], size, color=INK_ON[name])


def fitted(text: str, size: int, width: int) -> str:
    """Return `text`, cut so that it is at most `width` pixels wide."""
    text = text[:300]
    if _width(text, size) <= width:
        return text
    most = bisect_right(range(1, len(text)), width, key=lambda length: _width(text[:length] + "…", size))
    return text[:most] + "…" if most else ""


def wrapped_text(text: str, size: int, width: int, most: int) -> list[str]:
    """Return `text` as at most `most` lines of `width` pixels, broken between words."""
    lines: list[str] = []
    line = ""
    for word in escaped(text[:1000]).split():
        longer = f"{line} {word}".strip()
        if line and _width(longer, size) > width:
            lines.append(line)
            line = word
        else:
            line = longer
    lines.append(line)
    if len(lines) > most:
        lines = [*lines[: most - 1], fitted(" ".join(lines[most - 1 :]), size, width)]
    return [fitted(line, size, width) for line in lines]


MARGIN: Final = 16
TITLE: Final = 20
TEXT: Final = 15
SMALL: Final = 12
LINE: Final = 21
"""Pixels from one line of text to the next."""


class Drawing:
    """Draws positions of a game without a drawing of its own: its fields as a table. Base class of the others.

    A game's own one is `DRAWING` of its module `picture` in `viewer/games/`.
    """

    width = 640
    height = 560

    def __init__(self, game: Json) -> None:
        self.game = game

    def draw(self, canvas: Picture, position: Json) -> None:
        """Draw `position` on an empty canvas of `width` by `height`."""
        top = draw_heading(canvas, self.game, position, MARGIN, MARGIN, self.width - 2 * MARGIN)
        for key, value in list(position.get("fields", {}).items())[:18]:
            canvas.text(MARGIN, top, f"{key}: {value}", TEXT, width=self.width - 2 * MARGIN)
            top += LINE


def draw_heading(canvas: Picture, game: Json, position: Json, left: int, top: int, width: int) -> int:
    """Write the names, the points and the state of the game; return the height at which the next line goes."""
    end = end_of(game, position)
    final = [player["points"] for player in position["players"]] if end is None else end["points"]
    for number, (player, points) in enumerate(zip(game["players"], final, strict=True), 1):
        canvas.text(left, top, player["name"] or f"Player {number}", TITLE, width=width - 70)
        canvas.text(left + width - _width(str(points), TITLE), top, str(points), TITLE)
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


def draw_end(canvas: Picture, end: Json, left: int, top: int, width: int) -> int:
    """Write how the game ended, and which rule was broken; return the height at which the next line goes."""
    texts: list[tuple[str, Any]] = [("ink", end["words"]["en"])]
    if end["illegal"] is not None:
        texts.append(("fault", end["illegal"]["rule"]))
    for color, text in texts:
        for line in wrapped_text(text, TEXT, width, 3):
            canvas.text(left, top, line, TEXT, color=color, width=width)
            top += LINE
    return top


def draw_players(
    canvas: Picture, position: Json, left: int, top: int, width: int, lines_of: Callable[[Json], Sequence[str]]
) -> int:
    """Write about each player, beside its colour; return the height at which the next line goes.

    `lines_of` returns the lines about a player. The first one is larger.
    """
    for player in position["players"]:
        canvas.badge(left, top, 18, 18, player["color"], SMALL)
        first, *rest = lines_of(player)
        canvas.text(left + 26, top, first, TEXT, width=width - 26)
        for line in rest:
            top += LINE
            canvas.text(left + 26, top, line, SMALL, color="muted", width=width - 26)
        top += LINE + 10
    return top


def draw_marks(
    canvas: Picture, game: Json, position: Json, size: int, place: Callable[[int, int], tuple[int, int]]
) -> None:
    """Draw frames around the cells of the last move and of a refused one, and cross out those that break a rule.

    A cell has `size` pixels, and begins where `place` says.
    """
    move, end = position["lastMove"], end_of(game, position)
    for x, y in [] if move is None else move["cells"]:
        canvas.frame(*place(x, y), size - 1, size - 1, "ink", 2)
    illegal: Json | None = None if end is None else end["illegal"]
    if illegal is None:
        return
    for x, y in illegal["cells"]:
        canvas.frame(*place(x, y), size - 1, size - 1, "fault", 3)
        if [x, y] in illegal["offendingCells"]:
            canvas.cross(*place(x, y), size - 2, 6)


def draw_beside(
    canvas: Picture, game: Json, position: Json, left: int, lines_of: Callable[[Json], Sequence[str]]
) -> None:
    """Write what is beside a board, from `left` on: the game, the players as `draw_players` does, and the end."""
    width = canvas.image.width - left - MARGIN
    top = draw_heading(canvas, game, position, left, MARGIN, width)
    top = draw_players(canvas, position, left, top, width, lines_of)
    end = end_of(game, position)
    if end is not None:
        draw_end(canvas, end, left, top + 4, width)


def draw_below(
    canvas: Picture, game: Json, position: Json, top: int, lines_of: Callable[[Json], Sequence[str]]
) -> None:
    """Write what is below a board: the game and its end at the left, the players at the right, as by `draw_players`."""
    half = (canvas.image.width - 2 * MARGIN) // 2 - 10
    bottom = draw_heading(canvas, game, position, MARGIN, top, half)
    end = end_of(game, position)
    if end is not None:
        draw_end(canvas, end, MARGIN, bottom, half)
    draw_players(canvas, position, MARGIN + half + 20, top, half, lines_of)


FRAME: Final = 500
"""Milliseconds for which an animation shows a position."""
LAST_FRAME: Final = 4000
"""Milliseconds for which it shows the last position."""


def _draw(game: Json, positions: Iterable[Json]) -> Iterator[Image.Image]:
    """Yield a picture of each of these positions of `game`, drawn when it is needed: one takes 2 MB."""
    drawing: Drawing = (imported_if_there(f"viewer.games.{game['game']}.picture:DRAWING") or Drawing)(game)
    for position in positions:
        picture = Picture(drawing.width, drawing.height)
        drawing.draw(picture, position)
        yield picture.image.quantize(palette=_PALETTE, dither=Image.Dither.NONE)


def render_png(game: Json, ply: int = -1) -> bytes:
    """Return the picture of the position after `ply` moves as a PNG file; negative numbers count from the end."""
    buffer = io.BytesIO()
    next(_draw(game, [game["positions"][ply]])).save(buffer, "PNG")
    return buffer.getvalue()


def render_gif(game: Json) -> bytes:
    """Return all positions of a game as an animated GIF file, which is repeated without end."""
    frames = _draw(game, game["positions"])
    durations = [FRAME] * (len(game["positions"]) - 1) + [LAST_FRAME]
    buffer = io.BytesIO()
    next(frames).save(
        buffer,
        "GIF",
        save_all=True,
        append_images=frames,
        duration=durations if len(durations) > 1 else LAST_FRAME,
        loop=0,
        optimize=False,
    )
    return buffer.getvalue()
