"""Plots of matches and tournaments."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from spielleiter.match.reports.plots import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Bar,
    CurvePoint,
    Dot,
    bracket_plot,
    histogram,
    line_chart,
    ratings_plot,
    scatter,
    stacked_bars,
    ticks,
)
from spielleiter.match.reports.tournament_reports import ratings_of
from spielleiter.match.statistics import Estimate
from spielleiter.match.tournament import TournamentKind
from tests.match.test_tournament_reports import CUP, NAMES, decided_by_play_off, make_tournament, play_tournament

SVG = "{http://www.w3.org/2000/svg}"
VALUES = st.floats(-1e6, 1e6).map(lambda value: round(value, 6))


def shapes(plot: str, tag: str, kind: str | None = None) -> list[etree._Element]:
    found = etree.fromstring(plot.encode()).iter(f"{SVG}{tag}")
    return [each for each in found if kind in {None, each.get("class")}]


def number(element: etree._Element, name: str) -> float:
    return float(element.get(name) or "")


@pytest.mark.parametrize(
    ("low", "high", "least", "expected"),
    [
        (-20, 61, 0, (-20, 0, 20, 40, 60, 80)),
        (0, 0.17, 0, (0, 0.05, 0.1, 0.15, 0.2)),
        (3, 3, 0, (3, 3.2, 3.4, 3.6, 3.8, 4)),
        (2, 9, 1, (2, 4, 6, 8, 10)),
        (0, 0, 1, (0, 1)),
    ],
)
def test_ticks_are_round_numbers_that_enclose_the_values(
    low: float, high: float, least: float, expected: tuple[float, ...]
) -> None:
    assert ticks(low, high, least) == expected


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=20))
@settings(max_examples=30)
def test_dots_are_inside_the_plot_and_in_order(points: list[tuple[float, float]]) -> None:
    circles = shapes(scatter([Dot(x, y, "p0", "") for x, y in points], "x", "y"), "circle")
    centres = [(number(circle, "cx"), number(circle, "cy")) for circle in circles]
    for (x, y), (centre_x, centre_y) in zip(points, centres, strict=True):
        assert LEFT - 0.02 <= centre_x <= WIDTH - RIGHT + 0.02
        assert TOP - 0.02 <= centre_y <= HEIGHT - BOTTOM + 0.02
        for (other_x, other_y), (left, top) in zip(points, centres, strict=True):
            assert x <= other_x or centre_x >= left
            assert y <= other_y or centre_y <= top


def test_the_band_surrounds_its_line() -> None:
    plot = scatter([Dot(1, 5, "p0", "a"), Dot(2, -5, "p1", "b")], "game", "points", Estimate(1, -1, 3))
    [band], [mean], [zero] = shapes(plot, "rect", "band"), shapes(plot, "line", "mean"), shapes(plot, "line", "zero")
    assert number(mean, "y1") == pytest.approx(number(band, "y") + number(band, "height") / 2, abs=0.02)
    assert number(zero, "y1") > number(mean, "y1")
    assert [each.findtext(f"{SVG}title") for each in shapes(plot, "circle")] == ["a", "b"]


def test_bars_of_a_histogram_are_as_high_as_their_numbers() -> None:
    plot = histogram(["a", "b"], [("p0", [4, 0]), ("p1", [1, 2])], "time", "answers")
    assert [each.get("class") for each in shapes(plot, "rect")] == ["p0", "p1", "p1"]
    four, one, two = (number(each, "height") for each in shapes(plot, "rect"))
    assert (four, two) == pytest.approx((4 * one, 2 * one), abs=0.05)
    assert [each.text for each in shapes(plot, "title")] == ["a: 4", "a: 1", "b: 2"]


def test_parts_of_a_bar_are_placed_end_to_end() -> None:
    bars = [Bar("one", (("p0", 2.0), ("draw", 1.0), ("p1", 3.0)), "t"), Bar("two", (("p0", 1.0),), "u")]
    rectangles = shapes(stacked_bars(bars, "games"), "rect")
    widths = [number(each, "width") for each in rectangles]
    assert (widths[0], widths[3]) == pytest.approx((2 * widths[1], widths[1]), abs=0.05)
    for left, right in pairwise(rectangles[:3]):
        assert number(left, "x") + number(left, "width") == pytest.approx(number(right, "x"), abs=0.02)
    assert number(rectangles[3], "y") > number(rectangles[0], "y")


def test_texts_are_escaped_and_numbers_are_short() -> None:
    word = "<&\"'>"
    for text in (
        scatter([Dot(1 / 3, 2 / 3, "p0", word)], word, word),
        histogram([word], [("p0", [1])], word, word),
        stacked_bars([Bar(word, (("p0", 1 / 3),), word)], word),
    ):
        assert word in [each.text for each in etree.fromstring(text).iter()]
        assert not re.search(r'"-?\d+\.\d{3,}"', text)


def test_a_line_has_a_band_that_is_cut_off_at_the_limits() -> None:
    """Infinite bounds of an interval are drawn at the edge of the plot, and test bounds at their values."""
    steps = [CurvePoint(2, math.inf, -math.inf, math.inf, "a & b"), CurvePoint(4, 10, -20, 40, "later")]
    plot = line_chart(steps, "games", "Elo", (-20, 40), (-20,))
    [band], [curve] = (
        [each.get("points", "").split() for each in shapes(plot, tag)] for tag in ("polygon", "polyline")
    )
    assert [float(point.split(",")[1]) for point in band] == [TOP, TOP, HEIGHT - BOTTOM, HEIGHT - BOTTOM]
    first, last = (float(point.split(",")[1]) for point in curve)
    assert (first, last) == pytest.approx((TOP, HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) / 2))
    (bound,) = shapes(plot, "line", "bound")
    assert number(bound, "y1") == number(bound, "y2") == HEIGHT - BOTTOM
    assert [each.text for each in shapes(plot, "title")] == ["a & b", "later"]


def test_a_bracket_has_a_box_for_each_match() -> None:
    plot = bracket_plot(play_tournament(make_tournament(TournamentKind.KNOCK_OUT, CUP), decided_by_play_off))
    found = [(number(each, "x"), number(each, "y")) for each in shapes(plot, "rect")]
    quarter, first, second, final, third = found
    assert quarter[0] < first[0] == second[0] < final[0] == third[0]
    assert first[1] < final[1] < second[1] < third[1]
    assert {"new (bye)", "third place", "2 (1.5)"} <= {each.text for each in shapes(plot, "text")}
    height = float(etree.fromstring(plot).get("viewBox", "").split()[-1])
    assert all(0 <= y <= height - 40 for _, y in found)


def test_every_rating_has_its_interval() -> None:
    plot = ratings_plot(ratings_of(play_tournament(make_tournament(TournamentKind.ROUND_ROBIN))))
    lines, circles = shapes(plot, "line", "mean"), shapes(plot, "circle")
    assert len(circles) == len(NAMES)
    for line, circle in zip(lines, circles, strict=True):
        assert number(line, "x1") < number(circle, "cx") < number(line, "x2")
