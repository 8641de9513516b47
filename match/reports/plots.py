"""[reports.svg]
Plots in SVG, to be embedded in an HTML page.

Invariants: a plot consists of numbers with at most two decimals and of escaped texts. Colours are CSS classes (`p0`,
`p1`, `draw`, `grid` …) that the page's style sheet defines, so a page can be light or dark.


[reports.bracket]
Plots of a tournament: the bracket of a knock-out, and the ratings with their intervals.

Invariants: those of svg.py.

"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spielleiter.common.text import shortened
from spielleiter.match.pairings import THIRD_PLACE, Encounter, bracket, score_of
from spielleiter.match.ratings import RatedProgram
from spielleiter.match.reports.rendering import escape_html as escape
from spielleiter.match.tournament_progress import TournamentProgress

WIDTH: Final = 760
HEIGHT: Final = 280
LEFT: Final = 56
RIGHT: Final = 12
TOP: Final = 14
BOTTOM: Final = 44


@dataclass(frozen=True, slots=True)
class Dot:
    """One point of a scatter plot, with the text of its tooltip."""

    x: float
    y: float
    kind: str
    title: str


@dataclass(frozen=True, slots=True)
class Band:
    """A horizontal line at `value`, and a band from `low` to `high` around it."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A stacked bar; its parts (class, value) are placed end to end."""

    label: str
    parts: tuple[tuple[str, float], ...]
    title: str


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One point of a line chart: a value, the bounds of its interval (which may be infinite), and a tooltip."""

    x: float
    value: float
    low: float
    high: float
    title: str


def line_chart(
    steps: Sequence[CurvePoint], x_label: str, y_label: str, limits: tuple[float, float], bounds: Sequence[float] = ()
) -> str:
    """A line chart with a band for the intervals, cut off at the limits, and with dashed lines at the bounds.

    The y axis always includes 0.
    """
    x_ticks = ticks(min(step.x for step in steps), max(step.x for step in steps), least=1)
    y_ticks = ticks(min(0.0, limits[0]), max(0.0, limits[1]))
    x_scale, y_scale = _horizontal(x_ticks), _vertical(y_ticks)

    def point(x: float, y: float) -> str:
        return f"{_n(x_scale(x))},{_n(y_scale(min(max(y, y_ticks[0]), y_ticks[-1])))}"

    edge = [point(step.x, step.high) for step in steps] + [point(step.x, step.low) for step in reversed(steps)]
    parts = [_axes(x_ticks, y_ticks, x_label, y_label), f'<polygon class="band" points="{" ".join(edge)}"/>']
    parts += [line("bound", LEFT, y_scale(bound), WIDTH - RIGHT, y_scale(bound)) for bound in bounds]
    inside = [point(step.x, step.value) for step in steps]
    parts.append(f'<polyline class="curve" points="{" ".join(inside)}"/>')
    parts += [
        f'<circle class="p0" cx="{at.partition(",")[0]}" cy="{at.partition(",")[2]}" r="2">'
        f"<title>{escape(step.title)}</title></circle>"
        for step, at in zip(steps, inside, strict=True)
    ]
    return drawing(f"{y_label} by {x_label}", parts)


def scatter(dots: Sequence[Dot], x_label: str, y_label: str, band: Band | None = None) -> str:
    """A scatter plot with whole numbers on the x axis; the y axis always includes 0."""
    x_ticks = ticks(min(dot.x for dot in dots), max(dot.x for dot in dots), least=1)
    heights = [0.0, *(dot.y for dot in dots), *((band.low, band.high) if band else ())]
    y_ticks = ticks(min(heights), max(heights))
    x_scale, y_scale = _horizontal(x_ticks), _vertical(y_ticks)
    parts = [_axes(x_ticks, y_ticks, x_label, y_label)]
    if band is not None:
        top, bottom = y_scale(band.high), y_scale(band.low)
        parts.append(_rectangle("band", LEFT, top, WIDTH - LEFT - RIGHT, bottom - top))
        parts.append(line("mean", LEFT, y_scale(band.value), WIDTH - RIGHT, y_scale(band.value)))
    parts += [
        f'<circle class="{dot.kind}" cx="{_n(x_scale(dot.x))}" cy="{_n(y_scale(dot.y))}" r="3.5">'
        f"<title>{escape(dot.title)}</title></circle>"
        for dot in dots
    ]
    return drawing(f"{y_label} by {x_label}", parts)


def histogram(labels: Sequence[str], series: Sequence[tuple[str, Sequence[int]]], x_label: str, y_label: str) -> str:
    """A histogram: for each label, a bar of every series (class, values)."""
    y_ticks = ticks(0, max((value for _, values in series for value in values), default=0), least=1)
    y_scale = _vertical(y_ticks)
    step = (WIDTH - LEFT - RIGHT) / len(labels)
    width = step * 0.8 / len(series)
    parts = [_axes((), y_ticks, x_label, y_label)]
    for index, label in enumerate(labels):
        left = LEFT + step * index
        parts.append(text_at(left + step / 2, HEIGHT - BOTTOM + 16, label))
        for number, (kind, values) in enumerate(series):
            if values[index]:
                top = y_scale(values[index])
                bar = _rectangle(kind, left + step * 0.1 + width * number, top, width, y_scale(0) - top)
                parts.append(f"<g>{bar}<title>{escape(label)}: {values[index]}</title></g>")
    return drawing(f"{y_label} by {x_label}", parts)


def stacked_bars(bars: Sequence[Bar], x_label: str) -> str:
    """Horizontal stacked bars, one below the other."""
    row, left = 24, 190
    height = TOP + row * len(bars) + BOTTOM
    x_ticks = ticks(0, max(sum(value for _, value in bar.parts) for bar in bars), least=1)
    span = (WIDTH - left - RIGHT) / (x_ticks[-1] - x_ticks[0])
    parts = []
    for tick in x_ticks:
        x = left + span * tick
        parts.append(line("grid", x, TOP, x, height - BOTTOM))
        parts.append(text_at(x, height - BOTTOM + 16, f"{tick:g}"))
    for index, bar in enumerate(bars):
        top, x = TOP + row * index, float(left)
        parts.append(text_at(left - 8, top + row * 0.7, bar.label, "end"))
        pieces = [f"<title>{escape(bar.title)}</title>"]
        for kind, value in bar.parts:
            pieces.append(_rectangle(kind, x, top + 3, span * value, row - 6))
            x += span * value
        parts.append(f"<g>{''.join(pieces)}</g>")
    parts.append(text_at((left + WIDTH - RIGHT) / 2, height - 8, x_label))
    return drawing(x_label, parts, height)


def ticks(low: float, high: float, least: float = 0.0, wanted: int = 6) -> tuple[float, ...]:
    """The ticks of an axis: multiples of 1, 2 or 5 times a power of ten, from at most `low` to at least `high`.

    There are at least two ticks and about `wanted`, and their distance is at least `least`.
    """
    high = high if high > low else low + 1
    width = max(high - low, least * wanted)
    power = 10.0 ** math.floor(math.log10(width / wanted))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor * wanted >= width * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return tuple(round(index * step, 12) for index in range(first, max(last, first + 1) + 1))


class _Scale:
    """Maps the values of an axis to coordinates from `start` to `end`."""

    __slots__ = ("_factor", "_from", "_to")

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self._from, self._to = values[0], start
        self._factor = (end - start) / (values[-1] - values[0])

    def __call__(self, value: float) -> float:
        return self._to + (value - self._from) * self._factor


def _horizontal(values: Sequence[float]) -> _Scale:
    return _Scale(values, LEFT, WIDTH - RIGHT)


def _vertical(values: Sequence[float]) -> _Scale:
    return _Scale(values, HEIGHT - BOTTOM, TOP)


def _axes(x_ticks: Sequence[float], y_ticks: Sequence[float], x_label: str, y_label: str) -> str:
    parts = []
    y_scale = _vertical(y_ticks)
    for tick in y_ticks:
        y = y_scale(tick)
        parts.append(line("zero" if tick == 0 else "grid", LEFT, y, WIDTH - RIGHT, y))
        parts.append(text_at(LEFT - 6, y + 4, f"{tick:g}", "end"))
    parts += [text_at(_horizontal(x_ticks)(tick), HEIGHT - BOTTOM + 16, f"{tick:g}") for tick in x_ticks]
    parts.append(text_at((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x_label))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(
        f'<text transform="translate(14 {_n(middle)}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>'
    )
    return "".join(parts)


def drawing(title: str, parts: Sequence[str], height: float = HEIGHT) -> str:
    """The SVG element of a plot; all plots have the same width."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {_n(height)}" role="img" '
        f'aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )


def _rectangle(kind: str, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="{kind}" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"/>'


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """A line with the CSS class `kind`."""
    return f'<line class="{kind}" x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"/>'


def text_at(x: float, y: float, text: str, anchor: str = "middle") -> str:
    """A text, which is escaped here; `anchor` says which point of it (start, middle, end) is at x."""
    return f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}">{escape(text)}</text>'


def _n(value: float) -> str:
    return f"{value:z.2f}".rstrip("0").rstrip(".")


_ROW: Final = 24
_BOX: Final = 40
"""The height of an encounter, which has two lines."""
_GAP: Final = 12
_LEFT: Final = 190
_MARGIN: Final = 28
"""The right margin, which holds half of the last number."""
_LETTER_WIDTH: Final = 7.0  # a little more than that of most letters


def ratings_plot(ratings: Sequence[RatedProgram], anchor: str | None = None) -> str:
    """A plot with a line for each program: a dot for its rating, and its interval.

    `anchor` is the name of the program whose rating is 0; None: the mean of all is 0.
    """
    height = TOP + _ROW * len(ratings) + BOTTOM
    x_ticks = ticks(min(each.rating.low for each in ratings), max(each.rating.high for each in ratings))
    span = (WIDTH - _LEFT - _MARGIN) / (x_ticks[-1] - x_ticks[0])

    def x_of(value: float) -> float:
        return _LEFT + span * (value - x_ticks[0])

    parts = []
    for tick in x_ticks:
        parts.append(line("zero" if tick == 0 else "grid", x_of(tick), TOP, x_of(tick), height - BOTTOM))
        parts.append(text_at(x_of(tick), height - BOTTOM + 16, f"{tick:g}"))
    for index, each in enumerate(ratings):
        y, rating = TOP + _ROW * (index + 0.5), each.rating
        parts.append(text_at(_LEFT - 8, y + 4, shorten(each.name, _LEFT - 8), "end"))
        tooltip = f"{each.name}: {rating.value:+z.0f} [{rating.low:+z.0f}, {rating.high:+z.0f}]"
        dot = f'<circle class="p0" cx="{x_of(rating.value):.2f}" cy="{y:.2f}" r="4"/>'
        parts.append(
            f"<g>{line('mean', x_of(rating.low), y, x_of(rating.high), y)}{dot}<title>{escape(tooltip)}</title></g>"
        )
    parts.append(
        text_at(
            (_LEFT + WIDTH - _MARGIN) / 2,
            height - 8,
            "Elo; the mean is 0" if anchor is None else f"Elo; {shorten(anchor, 200)} is 0",
        )
    )
    return drawing("ratings", parts, height)


def bracket_plot(progress: TournamentProgress) -> str:
    """A plot with a column for each round; each encounter is placed between those that its programs come from."""
    size = 1 << (len(progress.seeding) - 1).bit_length()
    columns = size.bit_length() - 1
    slots = {progress.seeding[rank]: slot for slot, rank in enumerate(bracket(size)) if rank < len(progress.seeding)}
    height = TOP + size // 2 * (_BOX + _GAP) + 8
    width = (WIDTH - RIGHT) / columns
    parts: list[str] = []
    column = 0
    third: Encounter | None = None
    for each in progress.rounds:
        if each.title == THIRD_PLACE:
            third = each.encounters[0]
            continue
        column += 1
        left = width * (column - 1)
        for encounter in each.encounters:
            y = _middle(slots[encounter.pairing[0]] >> column, column)
            parts.append(_box(progress, encounter, left, y, width - 24))
            if column < columns:
                parts.append(
                    _connector(left + width - 24, y, _middle(slots[encounter.pairing[0]] >> column + 1, column + 1))
                )
        for program in each.byes:
            y = _middle(slots[program] >> column, column)
            name = progress.tournament.entrants[program].name
            parts.append(text_at(left + 6, y + 4, f"{shorten(name, width - 70)} (bye)", "start"))
            parts.append(_connector(left + width - 24, y, _middle(slots[program] >> column + 1, column + 1)))
    if third is not None:
        height += _BOX + 2 * _GAP + 16
        parts.append(text_at(width * (columns - 1) + 6, height - _BOX - 14, THIRD_PLACE, "start"))
        parts.append(_box(progress, third, width * (columns - 1), height - _BOX / 2 - 8, width - 24))
    return drawing("bracket", parts, height)


def _middle(slot: int, column: int) -> float:
    """The vertical position of the encounter with this number in its column, from the top."""
    return TOP + (slot + 0.5) * (1 << column - 1) * (_BOX + _GAP)


def _connector(x: float, y: float, to: float) -> str:
    return line("grid", x, y, x + 12, y) + line("grid", x + 12, y, x + 12, to) + line("grid", x + 12, to, x + 24, to)


def _box(progress: TournamentProgress, encounter: Encounter, left: float, middle: float, width: float) -> str:
    outcome = progress.outcomes.get(encounter.number)
    top = middle - _BOX / 2
    names = [progress.tournament.entrants[index].name for index in encounter.pairing]
    parts = [f'<rect class="box" x="{left:.2f}" y="{top:.2f}" width="{width:.2f}" height="{_BOX}"/>']
    for index, name in enumerate(names):
        y = top + 15 + index * 19
        is_winner = outcome is not None and outcome.winner == encounter.pairing[index]
        text = text_at(left + 6, y, shorten(name, width - 60), "start")
        if outcome is not None:
            text += text_at(left + width - 6, y, _score(progress, encounter, index), "end")
        parts.append(f'<g class="won">{text}</g>' if is_winner else text)
    decided = "still open" if outcome is None else outcome.reason.value
    parts.append(f"<title>{escape(' – '.join(names))}: {escape(decided)}</title>")
    return f"<g>{''.join(parts)}</g>"


def _score(progress: TournamentProgress, encounter: Encounter, index: int) -> str:
    """The score of one program, followed by its score in the play-offs in parentheses."""
    (played,) = [each for each in progress.played if each.encounter == encounter]
    own, *play_offs = [score_of(records)[index] for _, records in played.matches]
    return f"{own:g} ({sum(play_offs):g})" if play_offs else f"{own:g}"


def shorten(text: str, width: float) -> str:
    """The text, shortened if it is wider than `width` units of a plot."""
    return shortened(text, max(3, math.floor(width / _LETTER_WIDTH)), "…")
