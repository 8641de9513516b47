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
    shorten,
    stacked_bars,
    ticks,
)
from spielleiter.match.reports.tournament_reports import ratings_of
from spielleiter.match.statistics import Estimate
from spielleiter.match.tournament_file import KindOptions, TournamentKind
from tests.match.test_tournament_reports import NAMES, decided_by_play_off, make_tournament, play_tournament

SVG = "{http://www.w3.org/2000/svg}"
VALUES = st.floats(-1e6, 1e6).map(lambda value: round(value, 6))


def parse(text: str) -> etree._Element:
    return etree.fromstring(text.encode())


def number(element: etree._Element, name: str) -> float:
    return float(element.get(name) or "")


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 60, (0, 10, 20, 30, 40, 50, 60)),
        (-20, 61, (-20, 0, 20, 40, 60, 80)),
        (0, 0.17, (0, 0.05, 0.1, 0.15, 0.2)),
        (3, 3, (3, 3.2, 3.4, 3.6, 3.8, 4)),
        (1, 20, (0, 5, 10, 15, 20)),
        (0, 1e-3, (0, 2e-4, 4e-4, 6e-4, 8e-4, 1e-3)),
    ],
)
def test_ticks_are_round_numbers_that_enclose_the_values(low: float, high: float, expected: tuple[float, ...]) -> None:
    assert ticks(low, high) == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(1, 1, (1, 2)), (0, 3, (0, 1, 2, 3)), (2, 9, (2, 4, 6, 8, 10)), (0, 0, (0, 1))]
)
def test_ticks_of_whole_numbers(low: float, high: float, expected: tuple[float, ...]) -> None:
    assert ticks(low, high, least=1) == expected


@given(VALUES, VALUES)
@settings(max_examples=50)
def test_ticks_of_any_numbers(one: float, other: float) -> None:
    low, high = sorted((one, other))
    found = ticks(low, high)
    slack = 1e-6 * max(1.0, abs(low), abs(high))
    assert found[0] <= low + slack
    assert found[-1] >= high - slack
    assert 2 <= len(found) <= 9
    steps = {round((after - before) / (found[1] - found[0]), 3) for before, after in pairwise(found)}
    assert steps == {1.0}


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=20))
@settings(max_examples=30)
def test_dots_are_inside_the_plot_and_in_order(points: list[tuple[float, float]]) -> None:
    root = parse(scatter([Dot(x, y, "p0", "") for x, y in points], "x", "y"))
    circles = list(root.iter(f"{SVG}circle"))
    places = [(number(circle, "cx"), number(circle, "cy")) for circle in circles]
    for (x, y), place in zip(points, places, strict=True):
        assert LEFT - 0.02 <= place[0] <= WIDTH - RIGHT + 0.02
        assert TOP - 0.02 <= place[1] <= HEIGHT - BOTTOM + 0.02
        for (other_x, other_y), (left, top) in zip(points, places, strict=True):
            assert x <= other_x or place[0] >= left
            assert y <= other_y or place[1] <= top


def test_the_band_surrounds_its_line() -> None:
    root = parse(scatter([Dot(1, 5, "p0", "a"), Dot(2, -5, "p1", "b")], "game", "points", Estimate(1, -1, 3)))
    [band] = [each for each in root.iter(f"{SVG}rect") if each.get("class") == "band"]
    [mean] = [each for each in root.iter(f"{SVG}line") if each.get("class") == "mean"]
    assert number(mean, "y1") == pytest.approx(number(band, "y") + number(band, "height") / 2, abs=0.02)
    [zero] = [each for each in root.iter(f"{SVG}line") if each.get("class") == "zero"]
    assert number(zero, "y1") > number(mean, "y1")
    assert [each.findtext(f"{SVG}title") for each in root.iter(f"{SVG}circle")] == ["a", "b"]


def test_bars_of_a_histogram_are_as_high_as_their_numbers() -> None:
    root = parse(histogram(["a", "b"], [("p0", [4, 0]), ("p1", [1, 2])], "time", "answers"))
    heights = [(each.get("class"), number(each, "height")) for each in root.iter(f"{SVG}rect")]
    assert [kind for kind, _ in heights] == ["p0", "p1", "p1"]
    assert heights[0][1] == pytest.approx(4 * heights[1][1], abs=0.05)
    assert heights[2][1] == pytest.approx(2 * heights[1][1], abs=0.05)
    assert [each.text for each in root.iter(f"{SVG}title")] == ["a: 4", "a: 1", "b: 2"]


def test_parts_of_a_bar_are_placed_end_to_end() -> None:
    bars = [Bar("one", (("p0", 2.0), ("draw", 1.0), ("p1", 3.0)), "t"), Bar("two", (("p0", 1.0),), "u")]
    root = parse(stacked_bars(bars, "games"))
    rectangles = list(root.iter(f"{SVG}rect"))
    widths = [number(each, "width") for each in rectangles]
    assert widths[0] == pytest.approx(2 * widths[1], abs=0.05)
    assert widths[3] == pytest.approx(widths[1], abs=0.05)
    for left, right in pairwise(rectangles[:3]):
        assert number(left, "x") + number(left, "width") == pytest.approx(number(right, "x"), abs=0.02)
    assert number(rectangles[3], "y") > number(rectangles[0], "y")


def test_texts_are_escaped_and_numbers_are_short() -> None:
    word = "<&\"'>"
    texts = [
        scatter([Dot(1 / 3, 2 / 3, "p0", word)], word, word),
        histogram([word], [("p0", [1])], word, word),
        stacked_bars([Bar(word, (("p0", 1 / 3),), word)], word),
    ]
    for text in texts:
        assert word in [each.text for each in parse(text).iter()]
        assert not re.search(r'"-?\d+\.\d{3,}"', text)


def test_a_line_chart_is_cut_off_at_its_limits() -> None:
    """Infinite bounds of an interval are drawn at the edge of the plot, and test bounds at their values."""
    steps = [CurvePoint(2, math.inf, -math.inf, math.inf, "a & b"), CurvePoint(4, 10, -20, 40, "later")]
    root = parse(line_chart(steps, "games", "Elo", (-20, 40), (-20,)))
    band, line = root.find(f"{SVG}polygon"), root.find(f"{SVG}polyline")
    assert band is not None
    assert line is not None
    heights = [float(place.split(",")[1]) for place in (band.get("points") or "").split()]
    assert heights == [TOP, TOP, HEIGHT - BOTTOM, HEIGHT - BOTTOM]
    first, last = [[float(each) for each in place.split(",")] for place in (line.get("points") or "").split()]
    assert first[1] == TOP
    assert last[1] == pytest.approx(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) / 2)
    (bound,) = [each for each in root.iter(f"{SVG}line") if each.get("class") == "bound"]
    assert number(bound, "y1") == number(bound, "y2") == HEIGHT - BOTTOM
    assert [each.text for each in root.iter(f"{SVG}title")] == ["a & b", "later"]


CUP = KindOptions(seeding="listed", third_place=True)


def words(plot: str) -> list[str]:
    return [element.text or "" for element in etree.fromstring(plot).iter(f"{SVG}text")]


def boxes(plot: str) -> list[tuple[float, float]]:
    return [(float(each.get("x", "")), float(each.get("y", ""))) for each in etree.fromstring(plot).iter(f"{SVG}rect")]


def test_a_bracket_has_a_box_for_each_match() -> None:
    plot = bracket_plot(play_tournament(make_tournament(TournamentKind.KNOCK_OUT, CUP), decided_by_play_off))
    found = boxes(plot)
    assert len(found) == 5
    assert len(set(found)) == 5
    quarter, first, second, final, third = found
    assert quarter[0] < first[0] == second[0] < final[0] == third[0]
    assert first[1] < final[1] < second[1] < third[1]
    assert "new (bye)" in words(plot)
    assert "third place" in words(plot)
    assert "2 (1.5)" in words(plot)
    height = float(etree.fromstring(plot).get("viewBox", "").split()[-1])
    assert all(0 <= y <= height - 40 for _, y in found)


def test_every_rating_has_its_interval() -> None:
    plot = ratings_plot(ratings_of(play_tournament(make_tournament(TournamentKind.ROUND_ROBIN))))
    drawn = etree.fromstring(plot)
    assert len(list(drawn.iter(f"{SVG}circle"))) == len(NAMES)
    for circle, line in zip(drawn.iter(f"{SVG}circle"), drawn.findall(f".//{SVG}line[@class='mean']"), strict=True):
        assert float(line.get("x1", "")) < float(circle.get("cx", "")) < float(line.get("x2", ""))


def test_wide_names_are_shortened_to_the_same_width() -> None:
    assert shorten("日本語の名前" * 5, 70) == "日本語の…"
