"""`Canvas`: an image with a fixed palette, on which the games are drawn.

Every picture uses the same palette, so that an animation needs one palette only and no frame has to be converted. Text
is drawn smoothly by mixing: between two colours that meet in text, the palette has some in between.

Invariants: text comes from strangers and is escaped here; it is cut where it would leave its space. Drawing outside of
the image has no effect.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from PIL import Image, ImageDraw, ImageFont

from spielleiter.common.text import escaped

_STEPS: Final = 8
"""The number of palette entries from the background of a text to its ink."""

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


def _make_palette() -> tuple[list[int], dict[str, int], dict[tuple[str, str], int]]:
    """Return the palette as Pillow wants it, the index of each colour, and where the mixed colours of a pair begin."""
    values: list[int] = []
    indices: dict[str, int] = {}
    for name, color in _BASE.items():
        indices[name] = len(values) // 3
        values += color
    ramps: dict[tuple[str, str], int] = {}
    for back, ink in _TEXTS:
        ramps[back, ink] = len(values) // 3
        for step in range(_STEPS):
            share = step / (_STEPS - 1)
            values += [round(a + (b - a) * share) for a, b in zip(_BASE[back], _BASE[ink], strict=True)]
    return values, indices, ramps


_PALETTE, _INDICES, _RAMPS = _make_palette()


@lru_cache(maxsize=16)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _width(text: str, size: int) -> int:
    words = text.split(" ")
    return sum(_word_width(word, size) for word in words) + (len(words) - 1) * _space(size)


@lru_cache(maxsize=1024)
def _word_width(word: str, size: int) -> int:
    return round(_font(size).getlength(word))


def _space(size: int) -> int:
    """Return the width of a space, which the font makes too narrow after some letters."""
    return max(3, round(size * 0.28))


class Canvas:
    """An image of `width` by `height` pixels, empty at first."""

    def __init__(self, width: int, height: int, background: str = "paper") -> None:
        self.image = Image.new("P", (width, height), _INDICES[background])
        self.image.putpalette(_PALETTE)
        self._draw = ImageDraw.Draw(self.image)

    def fill(self, left: int, top: int, width: int, height: int, color: str) -> None:
        """Fill a rectangle."""
        self._draw.rectangle((left, top, left + width - 1, top + height - 1), fill=_INDICES[color])

    def frame(self, left: int, top: int, width: int, height: int, color: str, thickness: int = 1) -> None:
        """Draw the outline of a rectangle, inside of it."""
        self._draw.rectangle((left, top, left + width - 1, top + height - 1), outline=_INDICES[color], width=thickness)

    def line(self, start: tuple[int, int], end: tuple[int, int], color: str, thickness: int = 1) -> None:
        """Draw a line."""
        self._draw.line((*start, *end), fill=_INDICES[color], width=thickness)

    def dot(self, x: int, y: int, radius: int, color: str) -> None:
        """Draw a filled circle around (x, y)."""
        self._draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=_INDICES[color])

    def paste(self, other: Canvas, left: int, top: int) -> None:
        """Copy another canvas to this place."""
        self.image.paste(other.image, (left, top))

    def text(
        self,
        left: int,
        top: int,
        text: str,
        size: int,
        *,
        color: str = "ink",
        background: str = "paper",
        width: int | None = None,
    ) -> None:
        """Draw a line of text; it is cut where it would be wider than `width` pixels.

        The space below it has to have the colour `background`; both colours have to be one of the pairs of texts.
        """
        space = self.image.width - left if width is None else width
        picture = _text_image(text, size, space, _RAMPS[background, color])
        if picture is not None:
            self.image.paste(picture, (left, top))

    def right_aligned(self, right: int, top: int, text: str, size: int) -> None:
        """Draw a short text that ends before `right`."""
        self.text(right - _width(text, size), top, text, size)

    def centered(
        self,
        left: int,
        top: int,
        width: int,
        height: int,
        text: str,
        size: int,
        *,
        color: str = "ink",
        background: str = "paper",
    ) -> None:
        """Draw a short text in the middle of a rectangle."""
        box = _font(size).getbbox(text)
        x = left + round((width - (box[2] - box[0])) / 2 - box[0])
        y = top + round((height - (box[3] - box[1])) / 2 - box[1])
        self.text(x, y, text, size, color=color, background=background)


@lru_cache(maxsize=512)
def _text_image(text: str, size: int, width: int, ramp: int) -> Image.Image | None:
    """Return a line of text, cut to `width` pixels; None if there is nothing to draw.

    `ramp` is the palette entry of its background, which the mixed colours follow.
    """
    line = fitted(escaped(text), size, width)
    if not line:
        return None
    mask = Image.new("L", (_width(line, size) + 2, round(size * 1.4)), 0)
    draw, x = ImageDraw.Draw(mask), 0
    for word in line.split(" "):
        draw.text((x, 0), word, fill=255, font=_font(size))
        x += _word_width(word, size) + _space(size)
    return mask.point(_mixing(ramp))


@lru_cache(maxsize=16)
def _mixing(ramp: int) -> list[int]:
    """Return the palette entry for each of 256 shares of ink."""
    return [ramp + value * (_STEPS - 1) // 255 for value in range(256)]


def fitted(text: str, size: int, width: int) -> str:
    """Return `text`, cut so that it is at most `width` pixels wide."""
    text = text[:300]
    if _width(text, size) <= width:
        return text
    low, high = 0, len(text)
    while low < high:  # the largest length that fits
        middle = (low + high + 1) // 2
        if _width(text[:middle] + "…", size) <= width:
            low = middle
        else:
            high = middle - 1
    return text[:low] + "…" if low else ""


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
