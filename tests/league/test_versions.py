"""Uploads are bounded, and a team's newest accepted version plays unless the team or the teacher chooses otherwise."""

from __future__ import annotations

import pytest

from spielleiter.league.errors import RefusedError
from spielleiter.league.games import get_pair
from spielleiter.league.model import Fault, Version
from spielleiter.league.settings import Anchor, change_settings
from spielleiter.league.teams import pause_team
from spielleiter.league.versions import (
    active_version,
    active_versions,
    add_upload,
    begin_check,
    begin_full_check,
    discard_version,
    finish_check,
    finish_full_check,
    full_report,
    get_version,
    list_versions,
    package,
    pause_version,
    playing_versions,
    remove_version,
    require_upload_allowed,
    restart_checks,
    resume_version,
    set_anchors,
    take_back,
    versions_to_check_fully,
    waiting_versions,
)
from tests.league.leagues import NOON, League

FAULT = Fault("no-main-file", "Die Hauptdatei fehlt.", "The main file is missing.")


def active_number(league: League, team_id: int) -> int | None:
    version = league(active_version, team_id)
    return None if version is None else version.number


def refusal(league: League, team_id: int, content: bytes = b"new", now: float = NOON, **more: str) -> str:
    with pytest.raises(RefusedError) as caught:
        league(add_upload, team_id, "bot.zip", content, now, **more)
    return caught.value.code


def test_the_newest_accepted_version_plays(league: League) -> None:
    team = league.add_team("Hasen")
    first = league.upload(team)
    assert (first.state, first.is_active, first.label) == ("waiting", False, "Hasen v1")
    assert league(begin_check, first.id)
    assert not league(begin_check, first.id)
    assert league(finish_check, first.id, None, NOON).is_active
    second = league.upload(team)
    assert active_number(league, team) == 1
    league(finish_check, second.id, FAULT, NOON)
    refused = league(get_version, second.id)
    assert (refused.state, refused.fault_de, refused.sha256) == ("refused", FAULT.de, None)
    assert active_number(league, team) == 1
    assert league.accept(team).number == 3
    assert active_number(league, team) == 3


def test_an_older_upload_that_is_checked_later_does_not_replace_a_newer_one(league: League) -> None:
    team = league.add_team("Hasen")
    slow = league.upload(team)
    league.accept(team)
    league(finish_check, slow.id, None, NOON)
    assert active_number(league, team) == 2


def test_an_older_version_is_taken_back_by_its_own_team_only(league: League) -> None:
    team, other = league.add_team("Hasen"), league.add_team("Igel")
    first = league.accept(team)
    league.accept(team)
    foreign = league.accept(other)
    league(take_back, team, first.id, NOON)
    assert active_number(league, team) == 1
    with pytest.raises(RefusedError) as caught:
        league(take_back, team, foreign.id, NOON)
    assert caught.value.code == "no-such-version"
    waiting = league.upload(team)
    with pytest.raises(RefusedError) as caught:
        league(take_back, team, waiting.id, NOON)
    assert caught.value.code == "not-accepted"
    league(change_settings, stage="frozen")
    with pytest.raises(RefusedError) as caught:
        league(take_back, team, first.id, NOON)
    assert caught.value.code == "frozen"


def test_a_withdrawn_or_removed_version_makes_room_for_an_older_one(league: League) -> None:
    team, other = league.add_team("Hasen"), league.add_team("Igel")
    versions = [league.accept(team) for _ in range(3)]
    opponent = league.accept(other)
    pair = league.open_pair(versions[2], opponent)
    league(begin_full_check, versions[2].id)
    league(finish_full_check, versions[2].id, "failed", {"steps": 3}, FAULT, NOON)
    assert league(get_version, versions[2].id).state == "withdrawn"
    assert league(full_report, versions[2].id) == {"steps": 3}
    assert league(get_pair, pair.id).state == "void"
    assert active_number(league, team) == 2
    league(remove_version, versions[1].id, NOON)
    assert active_number(league, team) == 1
    league(remove_version, versions[0].id, NOON)
    assert active_number(league, team) is None


def test_a_full_check_changes_no_final_and_is_made_after_it(league: League) -> None:
    version = league.accept(league.add_team("Hasen"))
    league(begin_full_check, version.id)
    league(change_settings, stage="final")
    league(finish_full_check, version.id, "failed", {"steps": 3}, FAULT, NOON)
    assert league(get_version, version.id).state == "accepted"
    assert league(versions_to_check_fully) == []
    league(change_settings, stage="practice")
    assert [each.id for each in league(versions_to_check_fully)] == [version.id]


def test_a_team_discards_what_does_not_play(league: League) -> None:
    team = league.add_team("Hasen")
    first, second = league.accept(team), league.accept(team)
    with pytest.raises(RefusedError) as caught:
        league(discard_version, team, second.id, NOON)
    assert caught.value.code == "is-active"
    league(discard_version, team, first.id, NOON)
    assert [each.state for each in league(list_versions, team)] == ["accepted", "removed"]


def test_checks_that_were_interrupted_begin_anew(league: League) -> None:
    team = league.add_team("Hasen")
    accepted, waiting = league.accept(team), league.upload(team)
    league(begin_check, waiting.id)
    league(begin_full_check, accepted.id)
    assert league(waiting_versions) == []
    league(restart_checks)
    assert [each.id for each in league(waiting_versions)] == [waiting.id]
    assert [each.id for each in league(versions_to_check_fully)] == [accepted.id]


def test_many_uploads_of_a_team_let_others_pass(league: League) -> None:
    eager, calm = league.add_team("Hasen"), league.add_team("Igel")
    many = [league.upload(eager) for _ in range(3)]
    one = league.upload(calm)
    assert [each.id for each in league(waiting_versions)] == [many[0].id, one.id, many[1].id, many[2].id]


def test_uploads_are_bounded(league: League) -> None:
    team, other = league.add_team("Hasen"), league.add_team("Igel")
    league(change_settings, uploads_per_hour=3, upload_megabytes=1, team_megabytes=2)
    assert refusal(league, team, bytes(1_000_001)) == "too-large"
    league.upload(team, content=bytes(900_000))
    league.upload(team, content=bytes(900_001))
    assert refusal(league, team, bytes(900_002)) == "too-much"
    assert refusal(league, team, bytes(900_000)) == "same-again"
    league(add_upload, team, "bot.zip", bytes(900_000), NOON + 60, parameters="--fast")  # the same package is kept once
    assert refusal(league, team, now=NOON + 60) == "too-many-uploads"
    with pytest.raises(RefusedError):
        league(require_upload_allowed, team, 100, NOON + 60)
    league(require_upload_allowed, team, 100, NOON - 60)  # the clock was fast and is right now
    league.upload(other)
    league.upload(team, now=NOON + 3600)
    assert refusal(league, team, parameters="a\nb", now=NOON + 9000) == "bad-text"
    league(pause_team, team, "", NOON)
    assert refusal(league, team, now=NOON + 9000) == "paused"
    league(change_settings, stage="frozen")
    assert refusal(league, other, now=NOON + 9000) == "frozen"


def test_a_package_stays_as_long_as_a_version_needs_it(league: League) -> None:
    first, second = league.add_team("Hasen"), league.add_team("Igel")
    mine, theirs = league.upload(first, content=b"shared"), league.upload(second, content=b"shared")
    assert mine.sha256 == theirs.sha256
    assert mine.sha256 is not None
    league(remove_version, mine.id, NOON)
    assert league(package, mine.sha256) == b"shared"
    league(remove_version, theirs.id, NOON)
    assert league(package, mine.sha256) is None


def test_the_name_of_an_upload_is_one_line_without_folders(league: League) -> None:
    team = league.add_team("Hasen")
    version = league(add_upload, team, "C:\\Users\\anna\\mein\nbot.zip", b"x", NOON)
    assert version.name == "mein\\nbot.zip"
    assert league(add_upload, team, "../", b"y", NOON).name == "upload.zip"


def test_a_paused_version_waits_for_the_teacher_or_the_next_upload(league: League) -> None:
    team = league.add_team("Hasen")
    version = league.accept(team)
    league(pause_version, version.id, "stürzt ab", NOON)
    assert league(playing_versions) == []
    assert [each.pause_reason for each in league(active_versions)] == ["stürzt ab"]
    league(resume_version, version.id, NOON)
    assert [each.id for each in league(playing_versions)] == [version.id]
    league(pause_version, version.id, "stürzt ab", NOON)
    assert [each.id for each in [league.accept(team)]] == [each.id for each in league(playing_versions)]


def test_anchors_take_part_with_a_rating_that_does_not_move(league: League) -> None:
    def anchors() -> list[tuple[str | None, float | None, str]]:
        return [(each.builtin, each.anchor_rating, each.label) for each in league(active_versions)]

    league(set_anchors, [Anchor("builtin:random", 0.0), Anchor("builtin:greedy", 300.0)], NOON)
    assert anchors() == [("builtin:random", 0.0, "random"), ("builtin:greedy", 300.0, "greedy")]
    pair = league.open_pair(league(active_versions)[0], league(active_versions)[1])
    league(set_anchors, [Anchor("builtin:greedy", 350.0)], NOON)
    assert anchors() == [("builtin:greedy", 350.0, "greedy")]
    assert league(get_pair, pair.id).state == "void"
    (greedy,) = league(active_versions)
    with pytest.raises(RefusedError):
        league(remove_version, greedy.id, NOON)
    assert isinstance(greedy, Version)
