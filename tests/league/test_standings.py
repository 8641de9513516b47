"""The table of a league."""

from __future__ import annotations

from spielleiter.league.games import pairing_results, repeat_pair
from spielleiter.league.model import RatingOfDay, Version
from spielleiter.league.rating_history import ratings_before, save_ratings
from spielleiter.league.settings import Anchor
from spielleiter.league.standings import Standings, compute_standings
from spielleiter.league.versions import list_versions, pause_version, set_anchors
from tests.league.leagues import NOON, League


def table_of(league: League, day: str = "2027-01-31", before: Standings | None = None) -> Standings:
    return compute_standings(league(list_versions), league(pairing_results), league(ratings_before, day), before)


def test_new_league_lists_everybody(league: League) -> None:
    version = league.accept(league.add_team("Hasen"))
    league(set_anchors, [Anchor("builtin:greedy", 200.0)], NOON)
    row, anchor = sorted(table_of(league).rows, key=lambda row: row.rank is None)
    assert (anchor.rank, anchor.name, anchor.rating, anchor.low, anchor.high) == (None, "greedy", 200.0, 200.0, 200.0)
    assert (row.rank, row.version_id, row.name, row.games, row.trend) == (1, version.id, "Hasen", 0, None)
    assert row.is_provisional
    assert not anchor.is_provisional


def test_rows_count_the_results_of_the_active_version(league: League) -> None:
    team = league.add_team("Hasen")
    old, other = league.accept(team), league.accept(league.add_team("Igel"))
    league.play_pair(other, old, 0, 0)
    new = league.accept(team)
    league.play_pair(new, other, 0, None)
    pair = league.open_pair(other, new)
    league.play(pair, 1, 1, offender=0)
    league.play(pair, 2, None, is_counted=False)
    rows = {row.name: row for row in table_of(league).rows}
    hasen, igel = rows["Hasen"], rows["Igel"]
    assert (hasen.version_id, hasen.number) == (new.id, 2)
    assert (hasen.wins, hasen.draws, hasen.losses, hasen.faults, hasen.points) == (2, 1, 0, 0, 5)
    assert (igel.wins, igel.draws, igel.losses, igel.faults, igel.points) == (2, 1, 2, 1, 5)
    assert (hasen.rank, igel.rank) == (1, 2)
    assert table_of(league).meetings[min(other.id, new.id), max(other.id, new.id)] == 2


def test_challenges_count_for_nothing(league: League) -> None:
    """Two teams could agree that one of them loses, or challenge the weakest one all day for its points."""
    first, second = league.accept(league.add_team("Hasen")), league.accept(league.add_team("Igel"))
    league.play_pair(first, second, 0, 1)
    before = table_of(league)
    pair = league.open_pair(first, second, "challenge")
    league.play(pair, 1, 0)
    league.play(pair, 2, 0)
    again = league(repeat_pair, pair.id, NOON)
    league.play(again, 1, 0)
    league.play(again, 2, 0)
    assert table_of(league) == before


def test_order_follows_the_ratings_and_anchors_have_no_rank(league: League) -> None:
    weak, strong = league.accept(league.add_team("weak")), league.accept(league.add_team("strong"))
    league(set_anchors, [Anchor("builtin:random", -100.0), Anchor("builtin:greedy", 100.0)], NOON)
    anchors = [version for version in league(list_versions) if version.team_id is None]
    for anchor in anchors:
        for _ in range(5):
            league.play_pair(strong, anchor, 0, 0)
            league.play_pair(weak, anchor, 1, 1)
    rows = table_of(league).rows
    assert [(row.rank, row.name) for row in rows] == [(1, "strong"), (None, "greedy"), (None, "random"), (2, "weak")]


def day_of(version: Version, day: str, rating: float) -> RatingOfDay:
    return RatingOfDay(version.id, day, rating, rating - 50, rating + 50, 10)


def test_trend_is_the_change_since_the_last_day_even_for_a_new_version(league: League) -> None:
    team = league.add_team("Hasen")
    old = league.accept(team)
    league(save_ratings, [day_of(old, "2027-01-29", 20.0), day_of(old, "2027-01-30", 50.0)])
    league(save_ratings, [day_of(old, "2027-01-31", 70.0)])
    assert table_of(league).rows[0].trend == -50
    league.accept(team)
    assert table_of(league).rows[0].trend == -50
    assert table_of(league, "2027-01-30").rows[0].trend == -20
    assert table_of(league, "2027-01-29").rows[0].trend is None


def test_paused_version_stays_in_the_table(league: League) -> None:
    version = league.accept(league.add_team("Hasen"))
    league(pause_version, version.id, "it crashes", NOON)
    assert table_of(league).rows[0].is_paused


def test_last_table_changes_nothing_but_the_time(league: League) -> None:
    played = [league.accept(league.add_team(name)) for name in "ABCDEF"]
    for index, version in enumerate(played):
        for opponent in played[:index]:
            league.play_pair(version, opponent, 0, None if index % 2 else 1)
    first = table_of(league)
    assert all(
        abs(first.ratings[version].value - estimate.value) < 0.02
        for version, estimate in table_of(league, before=first).ratings.items()
    )
