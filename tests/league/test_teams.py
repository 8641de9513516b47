"""Teams have names that differ and can be shown, and leave nothing behind but their games."""

from __future__ import annotations

import pytest

from spielleiter.league.errors import RefusedError
from spielleiter.league.games import get_pair, list_games
from spielleiter.league.log import log_entries
from spielleiter.league.teams import (
    LONGEST_NAME,
    MOST_TEAMS,
    add_teams,
    get_team,
    list_teams,
    pause_team,
    remove_team,
    rename_team,
    resume_team,
    set_allows_helpers,
)
from spielleiter.league.versions import active_versions, list_versions, package, playing_versions
from tests.league.leagues import NOON, League


def test_a_list_of_names_makes_teams_with_codes(league: League) -> None:
    new = league(add_teams, ["Zora", "  Die  Hasen ", "", "änne"], NOON)
    assert [each.team.name for each in new] == ["Zora", "Die Hasen", "änne"]
    assert len({each.code for each in new}) == 3
    assert all(each.code not in repr(each) for each in new)
    assert {each.name for each in league(list_teams)} == {"Die Hasen", "Zora", "änne"}


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["Anna", "anna"], "name-taken"),
        (["Anna", "\uff21nna"], "name-taken"),  # a wide A, which looks almost the same
        (["x" * (LONGEST_NAME + 1)], "name-length"),
        (["An\u202ena"], "name-characters"),
        (["An\u200bna"], "name-characters"),
        ([f"Team {number}" for number in range(MOST_TEAMS + 1)], "too-many-teams"),
    ],
)
def test_a_name_that_would_confuse_is_refused_and_no_team_is_made(league: League, names: list[str], code: str) -> None:
    with pytest.raises(RefusedError) as caught:
        league(add_teams, names, NOON)
    assert caught.value.code == code
    assert league(list_teams) == []


def test_the_name_that_is_refused_can_be_found_in_a_long_list(league: League) -> None:
    with pytest.raises(RefusedError) as caught:
        league(add_teams, ["Berta", "\ufeffAn\u200bna", "Cäsar"], NOON)
    assert "„Anna“" in caught.value.de
    assert "“Anna”" in caught.value.en


def test_a_team_is_renamed_but_not_to_the_name_of_another(league: League) -> None:
    first = league.add_team("Hasen")
    league.add_team("Igel")
    assert league(rename_team, first, "HASEN", NOON).name == "HASEN"
    with pytest.raises(RefusedError, match="Igel"):
        league(rename_team, first, "igel", NOON)


def test_a_paused_team_does_not_play(league: League) -> None:
    first, second = league.add_team("Hasen"), league.add_team("Igel")
    pair = league.open_pair(league.accept(first), league.accept(second))
    league(pause_team, first, "zu laut", NOON)
    assert league(get_team, first).pause_reason == "zu laut"
    assert [each.team_id for each in league(playing_versions)] == [second]
    assert league(get_pair, pair.id).state == "void"
    league(resume_team, first, NOON)
    assert {each.team_id for each in league(playing_versions)} == {first, second}


def test_a_removed_team_leaves_its_games_only(league: League) -> None:
    first, second = league.add_team("Hasen"), league.add_team("Igel")
    mine, other = league.accept(first), league.accept(second)
    league.play_pair(mine, other, 0, 1)
    league(remove_team, first, NOON)
    assert [each.name for each in league(list_teams)] == ["Igel"]
    assert [each.team_id for each in league(active_versions)] == [second]
    assert [each.state for each in league(list_versions, first)] == ["removed"]
    assert mine.sha256 is not None
    assert league(package, mine.sha256) is None
    assert len(league(list_games)) == 2
    league.add_team("Hasen")  # the name is free again


def test_what_the_teacher_and_a_team_do_is_in_the_log(league: League) -> None:
    team = league.add_team("Hasen")
    league(set_allows_helpers, team, False, NOON, by=f"team:{team}")
    assert not league(get_team, team).allows_helpers
    assert [(each.actor, each.action, each.subject) for each in league(log_entries)] == [
        (f"team:{team}", "forbid-helpers", "Hasen"),
        ("teacher", "add-team", "Hasen"),
    ]
