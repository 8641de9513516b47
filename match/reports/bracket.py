"""Plots of a tournament: the bracket of a knock-out, and the ratings with their intervals.

Invariants: those of svg.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from spielleiter.common.text import shortened
from spielleiter.match.reports.escaping import escape_html as escape
from spielleiter.match.reports.svg import BOTTOM, RIGHT, TOP, WIDTH, drawing, line, text_at, ticks
from spielleiter.match.stats.ratings import RatedProgram
from spielleiter.match.tournaments.encounters import Encounter, score_of
from spielleiter.match.tournaments.knockout import THIRD_PLACE, bracket
from spielleiter.match.tournaments.progress import TournamentProgress

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
