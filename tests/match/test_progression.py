"""How the Elo difference develops during a match."""

from __future__ import annotations

import pytest

from spielleiter.match.statistics import Sprt
from spielleiter.match.summary import MAX_POINTS, progression_of, summarise
from tests.match.sample_records import game, whole_match


def test_a_point_equals_the_summary_of_its_games() -> None:
    records, test = whole_match(30), Sprt(0, 50, model="normalized")
    points = progression_of(records, test)
    assert [point.games for point in points] == list(range(2, 61, 2))
    for point in (points[0], points[12], points[-1]):
        summary = summarise(records[: point.games], sprt=test)
        assert summary.elo == point.elo
        assert summary.sprt is not None
        assert summary.sprt.log_likelihood_ratio == point.log_likelihood_ratio


@pytest.mark.parametrize("games", [2, 3, 239, 240, 241, 1000, 1001])
def test_the_last_point_is_after_the_last_game(games: int) -> None:
    points = progression_of([game(number, (0, 1, None)[number % 3]) for number in range(1, games + 1)])
    assert points[-1].games == games
    assert len(points) <= MAX_POINTS + 1
    assert all(point.log_likelihood_ratio is None for point in points)


def test_without_a_pair_there_is_no_progression() -> None:
    assert progression_of([]) == progression_of([game(1)]) == ()
