"""Plots in SVG, to be embedded in an HTML page.

A plot consists of numbers with at most two decimals and of escaped texts. Colours are CSS classes (`p0`, `p1`, `draw`,
`grid` …) that templates/style.css defines, so a page can be light or dark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from spielleiter.common.text import shortened
from spielleiter.match.pairings import THIRD_PLACE, Encounter, bracket, score_of
from spielleiter.match.ratings import RatedProgram
from spielleiter.match.records import GameRecord
from spielleiter.match.reports.rendering import escape_html as escape
from spielleiter.match.reports.texts import elo_text, seconds_text
from spielleiter.match.statistics import PLAYED_OUT, Estimate
from spielleiter.match.summary import HISTOGRAM_EDGES, ProgressionPoint, Summary, progression_of
from spielleiter.match.tournament_progress import TournamentProgress

WIDTH: Final = 760
HEIGHT: Final = 280
LEFT: Final = 56
RIGHT: Final = 12
TOP: Final = 14
BOTTOM: Final = 44

_ROW: Final = 24
"""The height of a line in plots with one line for each program or start."""
_NAMES: Final = 190
"""The width of the names before these lines."""
_MARGIN: Final = 28
"""The right margin of ratings, which holds half of the last number."""
_BOX: Final = 40
"""The height of an encounter in a bracket, which has two lines."""
_GAP: Final = 12
_LETTER_WIDTH: Final = 7.0  # a little more than that of most letters
_WIDEST: Final = 1000.0  # the highest Elo difference that a plot shows


@dataclass(frozen=True, slots=True)
class Dot:
    """One point of a scatter plot, with the text of its tooltip."""

    x: float
    y: float
    kind: str
    title: str


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One point of a line chart: a value, the bounds of its interval (which may be infinite), and a tooltip."""

    x: float
    value: float
    low: float
    high: float
    title: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A stacked bar; its parts (class, value) are placed end to end."""

    label: str
    parts: tuple[tuple[str, float], ...]
    title: str


# -- a match --------------------------------------------------------------------------------------------------------


def match_plots(summary: Summary, records: Sequence[GameRecord]) -> list[tuple[str, str | None]]:
    """The plots of a match with their captions; None where there is nothing to show."""
    points = progression_of(records, None if summary.sprt is None else summary.sprt.test)
    return [
        ("Elo by game, with 95 % interval", _elo_plot(points)),
        ("Log-likelihood ratio by game; at a dashed line the test decides", _llr_plot(summary, points)),
        ("Points: difference by game, with mean and 95 % interval", _points_plot(summary, records)),
        ("Result by start and side", _starts_plot(summary)),
        ("Think times", _histogram_plot(summary)),
        ("Think time by answer: median over the games", _think_time_plot(summary, records)),
    ]


def _elo_plot(points: Sequence[ProgressionPoint]) -> str | None:
    if len(points) < 2:
        return None
    steps = [
        CurvePoint(
            each.games, each.elo.value, each.elo.low, each.elo.high, f"After {each.games} games: {elo_text(each.elo)}"
        )
        for each in points
    ]
    # without the first intervals, which are too wide for a useful scale
    late = steps[len(steps) // 4 :]
    shown = [end for step in late for end in (step.low, step.value, step.high) if abs(end) <= _WIDEST]
    return line_chart(steps, "games", "Elo", (min(shown, default=-_WIDEST), max(shown, default=_WIDEST)))


def _llr_plot(summary: Summary, points: Sequence[ProgressionPoint]) -> str | None:
    test = None if summary.sprt is None else summary.sprt.test
    ratios = [(each.games, each.log_likelihood_ratio) for each in points if each.log_likelihood_ratio is not None]
    if test is None or len(ratios) < 2:
        return None
    steps = [CurvePoint(games, ratio, ratio, ratio, f"After {games} games: {ratio:+z.2f}") for games, ratio in ratios]
    heights = [test.lower, test.upper, *(ratio for _, ratio in ratios)]
    return line_chart(steps, "games", "LLR", (min(heights), max(heights)), (test.lower, test.upper))


def _points_plot(summary: Summary, records: Sequence[GameRecord]) -> str | None:
    dots = []
    for record in records:
        own, other = record.points
        if record.verdict in PLAYED_OUT and own is not None and other is not None:
            kind = "draw" if record.winner is None else f"p{record.winner}"
            first = record.names[record.seats[0]]
            dots.append(Dot(record.game, own - other, kind, f"Game {record.game}: {own} : {other}, {first} first"))
    if not dots:
        return None
    first, second = (shortened(name, 18, "…") for name in summary.names)
    return scatter(dots, "game", f"{first} minus {second}", summary.point_difference)


def _starts_plot(summary: Summary) -> str | None:
    bars = []
    name = summary.names[0]
    for each in summary.starts:
        seat = "second" if each.seat else "first"
        label = f"{shortened(name, 10, '…')} {seat}"
        if each.start is not None:
            label = f"{shortened(each.start, 10, '…')}, {label}"
        tooltip = f"{each.start or ''} {name} {seat}: won {each.wins}, drawn {each.draws}, lost {each.losses}"
        parts = (("p0", float(each.wins)), ("draw", float(each.draws)), ("p1", float(each.losses)))
        bars.append(Bar(label, parts, tooltip.strip()))
    return stacked_bars(bars, "games won, drawn and lost") if bars else None


def _histogram_plot(summary: Summary) -> str | None:
    histograms = [each.think_times.histogram for each in summary.programs]
    used = [index for index in range(len(HISTOGRAM_EDGES)) if any(each[index] for each in histograms)]
    if not used:
        return None
    span = range(used[0], used[-1] + 1)
    edges = [HISTOGRAM_EDGES[index] for index in span]
    labels = ["more" if math.isinf(edge) else seconds_text(edge) for edge in edges]
    series = [(f"p{program}", [each[index] for index in span]) for program, each in enumerate(histograms)]
    return histogram(labels, series, "think time, up to", "answers")


def _think_time_plot(summary: Summary, records: Sequence[GameRecord]) -> str | None:
    dots = []
    for program, name in enumerate(summary.names):
        games = [record.think_times[program] for record in records]
        for index in range(max(map(len, games), default=0)):
            middle = median(times[index] for times in games if len(times) > index)
            dots.append(Dot(index + 1, middle, f"p{program}", f"{name}, answer {index + 1}: {seconds_text(middle)}"))
    return scatter(dots, "answer", "seconds") if dots else None


# -- a tournament ---------------------------------------------------------------------------------------------------


def ratings_plot(ratings: Sequence[RatedProgram], anchor: str | None = None) -> str:
    """A plot with a line for each program: a dot for its rating, and its interval.

    `anchor` is the name of the program whose rating is 0; None: the mean of all is 0.
    """
    height = TOP + _ROW * len(ratings) + BOTTOM
    x_ticks = ticks(min(each.rating.low for each in ratings), max(each.rating.high for each in ratings))
    x_of = _scale(x_ticks, _NAMES, WIDTH - _MARGIN)
    parts = []
    for tick in x_ticks:
        parts.append(line("zero" if tick == 0 else "grid", x_of(tick), TOP, x_of(tick), height - BOTTOM))
        parts.append(text_at(x_of(tick), height - BOTTOM + 16, f"{tick:g}"))
    for index, each in enumerate(ratings):
        y, rating = TOP + _ROW * (index + 0.5), each.rating
        parts.append(text_at(_NAMES - 8, y + 4, shorten(each.name, _NAMES - 8), "end"))
        interval = line("mean", x_of(rating.low), y, x_of(rating.high), y)
        tooltip = f"{each.name}: {rating.value:+z.0f} [{rating.low:+z.0f}, {rating.high:+z.0f}]"
        parts.append(f"<g>{interval}{_circle('p0', x_of(rating.value), y, 4)}<title>{escape(tooltip)}</title></g>")
    origin = "Elo; the mean is 0" if anchor is None else f"Elo; {shorten(anchor, 200)} is 0"
    parts.append(text_at((_NAMES + WIDTH - _MARGIN) / 2, height - 8, origin))
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

    def middle(program: int, column: int) -> float:
        """The vertical position of a program's encounter in a column, from the top."""
        return TOP + ((slots[program] >> column) + 0.5) * (1 << column - 1) * (_BOX + _GAP)

    def connect(program: int, column: int) -> None:
        if column == columns:
            return
        x, y, to = width * column - 24, middle(program, column), middle(program, column + 1)
        parts.append(line("grid", x, y, x + 12, y))
        parts.append(line("grid", x + 12, y, x + 12, to))
        parts.append(line("grid", x + 12, to, x + 24, to))

    for each in progress.rounds:
        if each.title == THIRD_PLACE:
            third = each.encounters[0]
            continue
        column += 1
        left = width * (column - 1)
        for encounter in each.encounters:
            parts.append(_box(progress, encounter, left, middle(encounter.pairing[0], column), width - 24))
            connect(encounter.pairing[0], column)
        for program in each.byes:
            name = shorten(progress.tournament.entrants[program].name, width - 70)
            parts.append(text_at(left + 6, middle(program, column) + 4, f"{name} (bye)", "start"))
            connect(program, column)
    if third is not None:
        height += _BOX + 2 * _GAP + 16
        parts.append(text_at(width * (columns - 1) + 6, height - _BOX - 14, THIRD_PLACE, "start"))
        parts.append(_box(progress, third, width * (columns - 1), height - _BOX / 2 - 8, width - 24))
    return drawing("bracket", parts, height)


def _box(progress: TournamentProgress, encounter: Encounter, left: float, middle: float, width: float) -> str:
    """An encounter: both programs with their scores, and those in the play-offs in parentheses."""
    reason = encounter.reason
    top = middle - _BOX / 2
    names = [progress.tournament.entrants[index].name for index in encounter.pairing]
    parts = [_rectangle("box", left, top, width, _BOX)]
    for index, name in enumerate(names):
        y = top + 15 + index * 19
        text = text_at(left + 6, y, shorten(name, width - 60), "start")
        if reason is not None:
            own, *play_offs = [score_of(records)[index] for _, records in encounter.matches]
            score = f"{own:g} ({sum(play_offs):g})" if play_offs else f"{own:g}"
            text += text_at(left + width - 6, y, score, "end")
        parts.append(f'<g class="won">{text}</g>' if encounter.winner == encounter.pairing[index] else text)
    decided = "still open" if reason is None else reason.value
    parts.append(f"<title>{escape(' – '.join(names))}: {escape(decided)}</title>")
    return f"<g>{''.join(parts)}</g>"


def shorten(text: str, width: float) -> str:
    """The text, shortened if it is wider than `width` units of a plot."""
    return shortened(text, max(3, math.floor(width / _LETTER_WIDTH)), "…")


# -- kinds of plots -------------------------------------------------------------------------------------------------


def line_chart(
    steps: Sequence[CurvePoint], x_label: str, y_label: str, limits: tuple[float, float], bounds: Sequence[float] = ()
) -> str:
    """A line chart with a band for the intervals, cut off at the limits, and with dashed lines at the bounds.

    The y axis always includes 0.
    """
    x_ticks = ticks(min(step.x for step in steps), max(step.x for step in steps), least=1)
    y_ticks = ticks(min(0.0, limits[0]), max(0.0, limits[1]))
    axes, x_of, y_of = _axes(x_ticks, y_ticks, x_label, y_label)

    def height_of(value: float) -> float:
        return y_of(min(max(value, y_ticks[0]), y_ticks[-1]))

    def points(values: Sequence[tuple[float, float]]) -> str:
        return " ".join(f"{_n(x_of(x))},{_n(height_of(value))}" for x, value in values)

    edge = [(step.x, step.high) for step in steps] + [(step.x, step.low) for step in reversed(steps)]
    parts = [axes, f'<polygon class="band" points="{points(edge)}"/>']
    parts += [line("bound", LEFT, y_of(bound), WIDTH - RIGHT, y_of(bound)) for bound in bounds]
    parts.append(f'<polyline class="curve" points="{points([(step.x, step.value) for step in steps])}"/>')
    parts += [_circle("p0", x_of(step.x), height_of(step.value), 2, step.title) for step in steps]
    return drawing(f"{y_label} by {x_label}", parts)


def scatter(dots: Sequence[Dot], x_label: str, y_label: str, mean: Estimate | None = None) -> str:
    """A scatter plot with whole numbers on the x axis, and `mean` as a line in a band; the y axis always includes 0."""
    x_ticks = ticks(min(dot.x for dot in dots), max(dot.x for dot in dots), least=1)
    heights = [0.0, *(dot.y for dot in dots), *((mean.low, mean.high) if mean else ())]
    axes, x_of, y_of = _axes(x_ticks, ticks(min(heights), max(heights)), x_label, y_label)
    parts = [axes]
    if mean is not None:
        parts.append(_rectangle("band", LEFT, y_of(mean.high), WIDTH - LEFT - RIGHT, y_of(mean.low) - y_of(mean.high)))
        parts.append(line("mean", LEFT, y_of(mean.value), WIDTH - RIGHT, y_of(mean.value)))
    parts += [_circle(dot.kind, x_of(dot.x), y_of(dot.y), 3.5, dot.title) for dot in dots]
    return drawing(f"{y_label} by {x_label}", parts)


def histogram(labels: Sequence[str], series: Sequence[tuple[str, Sequence[int]]], x_label: str, y_label: str) -> str:
    """A histogram: for each label, a bar of every series (class, values)."""
    y_ticks = ticks(0, max((value for _, values in series for value in values), default=0), least=1)
    axes, _, y_of = _axes((), y_ticks, x_label, y_label)
    step = (WIDTH - LEFT - RIGHT) / len(labels)
    width = step * 0.8 / len(series)
    parts = [axes]
    for index, label in enumerate(labels):
        left = LEFT + step * index
        parts.append(text_at(left + step / 2, HEIGHT - BOTTOM + 16, label))
        for number, (kind, values) in enumerate(series):
            if values[index]:
                top = y_of(values[index])
                bar = _rectangle(kind, left + step * 0.1 + width * number, top, width, y_of(0) - top)
                parts.append(f"<g>{bar}<title>{escape(label)}: {values[index]}</title></g>")
    return drawing(f"{y_label} by {x_label}", parts)


def stacked_bars(bars: Sequence[Bar], x_label: str) -> str:
    """Horizontal stacked bars, one below the other."""
    height = TOP + _ROW * len(bars) + BOTTOM
    x_ticks = ticks(0, max(sum(value for _, value in bar.parts) for bar in bars), least=1)
    x_of = _scale(x_ticks, _NAMES, WIDTH - RIGHT)
    parts = []
    for tick in x_ticks:
        parts.append(line("grid", x_of(tick), TOP, x_of(tick), height - BOTTOM))
        parts.append(text_at(x_of(tick), height - BOTTOM + 16, f"{tick:g}"))
    for index, bar in enumerate(bars):
        top, before = TOP + _ROW * index, 0.0
        parts.append(text_at(_NAMES - 8, top + _ROW * 0.7, bar.label, "end"))
        pieces = [f"<title>{escape(bar.title)}</title>"]
        for kind, value in bar.parts:
            pieces.append(_rectangle(kind, x_of(before), top + 3, x_of(value) - x_of(0), _ROW - 6))
            before += value
        parts.append(f"<g>{''.join(pieces)}</g>")
    parts.append(text_at((_NAMES + WIDTH - RIGHT) / 2, height - 8, x_label))
    return drawing(x_label, parts, height)


# -- axes and shapes ------------------------------------------------------------------------------------------------


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


def _scale(values: Sequence[float], start: float, end: float) -> Callable[[float], float]:
    """Map the values of an axis to coordinates from `start` to `end`."""
    factor = (end - start) / (values[-1] - values[0])
    return lambda value: start + (value - values[0]) * factor


def _axes(
    x_ticks: Sequence[float], y_ticks: Sequence[float], x_label: str, y_label: str
) -> tuple[str, Callable[[float], float], Callable[[float], float]]:
    """The axes, and the functions that map values to coordinates; without `x_ticks`, the x axis has none."""
    x_of = _scale(x_ticks or (0, 1), LEFT, WIDTH - RIGHT)
    y_of = _scale(y_ticks, HEIGHT - BOTTOM, TOP)
    parts = []
    for tick in y_ticks:
        parts.append(line("zero" if tick == 0 else "grid", LEFT, y_of(tick), WIDTH - RIGHT, y_of(tick)))
        parts.append(text_at(LEFT - 6, y_of(tick) + 4, f"{tick:g}", "end"))
    parts += [text_at(x_of(tick), HEIGHT - BOTTOM + 16, f"{tick:g}") for tick in x_ticks]
    parts.append(text_at((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x_label))
    middle = _n((TOP + HEIGHT - BOTTOM) / 2)
    parts.append(f'<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>')
    return "".join(parts), x_of, y_of


def drawing(title: str, parts: Sequence[str], height: float = HEIGHT) -> str:
    """The SVG element of a plot; all plots have the same width."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {_n(height)}" role="img" '
        f'aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """A line with the CSS class `kind`."""
    return f'<line class="{kind}" x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"/>'


def text_at(x: float, y: float, text: str, anchor: str = "middle") -> str:
    """A text, which is escaped here; `anchor` says which point of it (start, middle, end) is at x."""
    return f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}">{escape(text)}</text>'


def _circle(kind: str, x: float, y: float, radius: float, title: str = "") -> str:
    shape = f'<circle class="{kind}" cx="{_n(x)}" cy="{_n(y)}" r="{radius:g}"'
    return f"{shape}><title>{escape(title)}</title></circle>" if title else f"{shape}/>"


def _rectangle(kind: str, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="{kind}" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"/>'


def _n(value: float) -> str:
    return f"{value:z.2f}".rstrip("0").rstrip(".")
