"""Pictures of a game: a position as a PNG file, a whole game as an animated GIF.

Needs Pillow. Every picture is saved with the same palette, so that an animation needs one only. Between two colours
that meet in text, the palette has some in between, for smooth edges. Colours are never the only difference: everything
coloured has a letter as well.
"""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from PIL import Image, ImageDraw, ImageFont

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
    """Draws positions of a game without a drawing of its own: its fields as a table. Base class of the others."""

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
                    for start, stop in (((5, 5), (CELL - 7, CELL - 7)), ((5, CELL - 7), (CELL - 7, 5))):
                        canvas.line((left + start[0], top + start[1]), (left + stop[0], top + stop[1]), "fault", 3)
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
        half = (self.width - 2 * MARGIN) // 2 - 10
        bottom = draw_heading(canvas, self.game, position, MARGIN, top, half)
        end = end_of(self.game, position)
        if end is not None:
            draw_end(canvas, end, MARGIN, bottom, half)
        left = MARGIN + half + 20
        for player in position["players"]:
            canvas.badge(left, top, 18, 18, player["color"], SMALL)
            words = f"field {player['field']}, {player['carrots']} carrots, {player['salads']} salads"
            canvas.text(left + 26, top, words, TEXT, width=half - 26)
            cards = ", ".join(card.replace("_", " ").lower() for card in player["cards"]) or "none"
            canvas.text(left + 26, top + LINE, f"cards: {cards}", SMALL, color="muted", width=half - 26)
            top += 2 * LINE + 10


_DRAWINGS: Final[Mapping[str, type[Drawing]]] = MappingProxyType(
    {"blokus": BlokusDrawing, "hase_und_igel": HaseUndIgelDrawing}
)
"""The drawing of each game, by the name of its view. A game without one is drawn as a table."""

FRAME: Final = 500
"""Milliseconds for which an animation shows a position."""
LAST_FRAME: Final = 4000
"""Milliseconds for which it shows the last position."""


def _draw(game: Json, positions: Iterable[Json]) -> Iterator[Image.Image]:
    """Yield a picture of each of these positions of `game`, drawn when it is needed: one takes 2 MB."""
    drawing = _DRAWINGS.get(game["game"], Drawing)(game)
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
