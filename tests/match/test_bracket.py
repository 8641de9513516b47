"""The plots of a tournament, parsed as SVG."""

from __future__ import annotations

from lxml import etree

from spielleiter.match.reports.plots import bracket_plot, ratings_plot, shorten
from spielleiter.match.reports.tournament_reports import ratings_of
from spielleiter.match.tournament_file import Kind, KindOptions
from tests.match.test_tournament_reports import NAMES, decided_by_play_off, make_tournament, play_tournament

SVG = "{http://www.w3.org/2000/svg}"
CUP = KindOptions(seeding="listed", third_place=True)


def words(plot: str) -> list[str]:
    return [element.text or "" for element in etree.fromstring(plot).iter(f"{SVG}text")]


def boxes(plot: str) -> list[tuple[float, float]]:
    return [(float(each.get("x", "")), float(each.get("y", ""))) for each in etree.fromstring(plot).iter(f"{SVG}rect")]


def test_a_bracket_has_a_box_for_each_match() -> None:
    plot = bracket_plot(play_tournament(make_tournament(Kind.KNOCK_OUT, CUP), decided_by_play_off))
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


def test_a_bracket_grows_with_the_rounds() -> None:
    assert boxes(bracket_plot(play_tournament(make_tournament(Kind.KNOCK_OUT), stop=0)))
    counts = [
        len(boxes(bracket_plot(play_tournament(make_tournament(Kind.KNOCK_OUT), stop=stop)))) for stop in range(5)
    ]
    assert counts == sorted(counts)
    assert counts[-1] == 4


def test_every_rating_has_its_interval() -> None:
    plot = ratings_plot(ratings_of(play_tournament(make_tournament(Kind.ROUND_ROBIN))))
    drawn = etree.fromstring(plot)
    assert len(list(drawn.iter(f"{SVG}circle"))) == len(NAMES)
    for circle, line in zip(drawn.iter(f"{SVG}circle"), drawn.findall(f".//{SVG}line[@class='mean']"), strict=True):
        assert float(line.get("x1", "")) < float(circle.get("cx", "")) < float(line.get("x2", ""))


def test_long_names_are_shortened() -> None:
    assert shorten("short", 100) == "short"
    assert shorten("x" * 50, 70) == "x" * 9 + "…"
    assert shorten("x" * 50, 0) == "xx…"


def test_wide_names_are_shortened_to_the_same_width() -> None:
    assert shorten("日本語の名前" * 5, 70) == "日本語の…"
