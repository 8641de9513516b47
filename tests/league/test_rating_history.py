"""The ratings of each day are kept, and yesterday's can be found although a version did not play then."""

from __future__ import annotations

from spielleiter.league.model import RatingOfDay
from spielleiter.league.rating_history import rating_history, ratings_before, save_ratings
from tests.league.leagues import League


def test_the_last_rating_of_a_day_stays(league: League) -> None:
    first, second = league.accept(league.add_team("Hasen")), league.accept(league.add_team("Igel"))
    monday = RatingOfDay(first.id, "2027-01-04", 10.0, 0.0, 20.0, 5)
    later = RatingOfDay(first.id, "2027-01-04", 12.0, 2.0, 22.0, 7)
    tuesday = RatingOfDay(first.id, "2027-01-05", 15.0, 5.0, 25.0, 9)
    other = RatingOfDay(second.id, "2027-01-02", -5.0, -9.0, -1.0, 3)
    league(save_ratings, [monday, other])
    league(save_ratings, [later, tuesday])
    assert league(rating_history, [first.id]) == [later, tuesday]
    assert league(ratings_before, "2027-01-05") == {first.id: 12.0, second.id: -5.0}
    assert league(ratings_before, "2027-01-02") == {}
