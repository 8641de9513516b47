"""The stages of a league, and its final in all three kinds, played by planted strengths."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from spielleiter.league import games, stages, teams, versions
from spielleiter.league.errors import RefusedError
from spielleiter.league.model import FinalKind, Pair, PlayedGame, Version
from spielleiter.league.settings import change_settings, load_settings
from spielleiter.league.stages import Bracket
from spielleiter.match.pairings import Reason
from tests.league.leagues import NOON, League

Play = Callable[[Pair], tuple[int | None, int | None]]


def league_of(league: League, count: int) -> list[Version]:
    """The versions of this many teams, the strongest first: each has won a pair against all later ones."""
    found = [league.accept(league.add_team(f"T{number}")) for number in range(1, count + 1)]
    for index, first in enumerate(found):
        for second in found[index + 1 :]:
            league.play_pair(first, second, 0, 0)
    return found


def stronger_wins(pair: Pair) -> tuple[int | None, int | None]:
    winner = 0 if pair.first < pair.second else 1
    return winner, winner


def play_final(league: League, play: Play = stronger_wins, most: int = 10_000) -> Bracket:
    """Play the final to its end, or until this many pairs are played."""
    played = 0
    chance = random.Random(1)
    while played < most:
        opened = league(games.list_pairs, state="open", purpose="final")
        if not opened:
            if not league(stages.continue_final, NOON, chance):
                break
            continue
        for number, winner in enumerate(play(opened[0]), 1):
            points = {0: (9, 3), 1: (3, 9), None: (5, 5)}[winner]
            league.play(opened[0], number, winner, points1=points[0], points2=points[1])
        played += 1
    found = league(stages.bracket)
    assert found is not None
    return found


@pytest.mark.parametrize("count", [2, 5, 6])
def test_round_robin_lets_everybody_meet_everybody(league: League, count: int) -> None:
    league_of(league, count)
    league(stages.begin_final, "round-robin", 1, NOON)
    final = play_final(league)
    meetings = [each for number in final.rounds for each in number.meetings if each.second is not None]
    assert len(meetings) == count * (count - 1) // 2
    assert all(each.is_done for each in meetings)
    assert [row.name for row in final.table] == [f"T{number}" for number in range(1, count + 1)]
    assert [row.points for row in final.table] == [4.0 * (count - place) for place in range(1, count + 1)]
    assert final.champion == "T1"


def test_pairs_of_games_are_played_as_often_as_wanted(league: League) -> None:
    league_of(league, 2)
    league(stages.begin_final, "round-robin", 3, NOON)
    final = play_final(league)
    assert final.table[0].games == 6
    assert final.rounds[0].meetings[0].score1 == 6


def test_swiss_final_needs_few_rounds(league: League) -> None:
    league_of(league, 7)
    league(stages.begin_final, "swiss", 1, NOON)
    final = play_final(league)
    assert len(final.rounds) == 3
    assert all(sum(each.second is None for each in number.meetings) == 1 for number in final.rounds)
    assert final.champion == final.table[0].name == "T1"


def test_knock_out_ends_with_a_final_and_third_place(league: League) -> None:
    league_of(league, 6)
    league(stages.begin_final, "knock-out", 1, NOON)
    final = play_final(league)
    assert [each.title for each in final.rounds] == ["quarter-final", "semi-final", "third place", "final"]
    assert [(row.rank, row.name) for row in final.table[:4]] == [(1, "T1"), (2, "T2"), (3, "T3"), (4, "T4")]
    assert final.champion == "T1"
    byes = [each.first.name for each in final.rounds[0].meetings if each.second is None]
    assert byes == ["T1", "T2"]


def test_even_meeting_of_a_knock_out_is_decided_by_play_offs(league: League) -> None:
    league_of(league, 2)
    league(stages.begin_final, "knock-out", 1, NOON)

    def second_wins_the_second_play_off(pair: Pair) -> tuple[int | None, int | None]:
        return (1, 1) if pair.label == "play-off 2" else (0, 1)

    final = play_final(league, second_wins_the_second_play_off)
    assert final.champion == "T2"
    meeting = final.rounds[0].meetings[0]
    assert (meeting.score1, meeting.score2, meeting.winner) == (1.0, 1.0, 1)
    assert meeting.decided_by is Reason.PLAY_OFF
    assert len(meeting.pairs) == 3


def test_knock_out_that_stays_even_goes_to_the_one_seeded_higher(league: League) -> None:
    league_of(league, 2)
    league(stages.begin_final, "knock-out", 1, NOON)
    final = play_final(league, lambda _pair: (None, None))
    assert final.champion == "T1"
    assert len(final.rounds[0].meetings[0].pairs) == 1 + stages.MOST_PLAY_OFFS
    assert final.rounds[0].meetings[0].decided_by is Reason.SEEDING


def test_who_is_removed_loses_and_the_final_goes_on(league: League) -> None:
    found = league_of(league, 4)
    league(stages.begin_final, "knock-out", 1, NOON)
    play_final(league, most=1)
    league(versions.remove_version, found[0].id, NOON)
    final = play_final(league)
    assert final.champion is not None
    assert final.champion != "T1"
    assert not league(stages.continue_final, NOON, random.Random(1))


def test_everybody_gets_the_same_for_who_is_removed_from_a_round_robin(league: League) -> None:
    """Who has not met it yet wins these games without playing."""
    found = league_of(league, 5)
    league(stages.begin_final, "round-robin", 2, NOON)
    play_final(league, most=5)
    league(versions.remove_version, found[4].id, NOON)
    final = play_final(league)
    assert [(row.name, row.points, row.wins) for row in final.table] == [
        ("T1", 32.0, 16),
        ("T2", 24.0, 12),
        ("T3", 16.0, 8),
        ("T4", 8.0, 4),
        ("T5", 0.0, 0),
    ]
    assert {row.games for row in final.table} == {16}


@pytest.mark.parametrize("kind", ["round-robin", "swiss", "knock-out"])
def test_game_that_does_not_count_is_played_again_in_a_final(league: League, kind: FinalKind) -> None:
    league_of(league, 2)
    league(stages.begin_final, kind, 1, NOON)
    assert league(stages.continue_final, NOON, random.Random(1))
    (pair,) = league(games.list_pairs, state="open", purpose="final")
    league(games.record_game, uncounted(pair, 1), NOON)
    league(games.record_game, uncounted(pair, 2), NOON)
    final = play_final(league)
    assert [(row.name, row.wins) for row in final.table] == [("T1", 2), ("T2", 0)]
    assert len(final.rounds[0].meetings[0].pairs) == 2


def test_final_ends_although_no_game_counts(league: League) -> None:
    league_of(league, 2)
    league(stages.begin_final, "knock-out", 1, NOON)
    chance = random.Random(1)
    for _ in range(100):
        for pair in league(games.list_pairs, state="open", purpose="final"):
            league(games.record_game, uncounted(pair, 1), NOON)
            league(games.record_game, uncounted(pair, 2), NOON)
        if not league(stages.continue_final, NOON, chance):
            break
    final = league(stages.bracket)
    assert final is not None
    assert final.champion == "T1"


def uncounted(pair: Pair, number: int) -> PlayedGame:
    return PlayedGame(pair_id=pair.id, number=number, winner=None, is_counted=False, verdict="overloaded machine")


def test_clock_that_was_set_back_does_not_hide_the_games_of_a_final(league: League) -> None:
    league_of(league, 3)
    league(stages.begin_final, "round-robin", 1, NOON + 3600)
    assert play_final(league).champion == "T1"  # which opens its pairs at noon


@pytest.mark.parametrize("kind", ["round-robin", "swiss", "knock-out"])
def test_interrupted_final_goes_on_in_the_same_way(league: League, kind: FinalKind) -> None:
    league_of(league, 5)
    league(stages.begin_final, kind, 1, NOON)
    for _ in range(3):
        play_final(league, most=1)  # each call looks only at the database
    final = play_final(league)
    assert final.champion == "T1"
    pairs = [pair for each in final.rounds for meeting in each.meetings for pair in meeting.pairs]
    assert len(pairs) == len(set(pairs))
    assert league(games.list_pairs, purpose="final", state="open") == []


def test_repeated_pair_of_a_final_replaces_the_first_one(league: League) -> None:
    league_of(league, 2)
    league(stages.begin_final, "round-robin", 1, NOON)
    final = play_final(league)
    league(games.repeat_pair, final.rounds[0].meetings[0].pairs[0], NOON)
    assert play_final(league, lambda _pair: (1, 1)).champion == "T2"


def test_final_that_was_ended_keeps_its_result(league: League) -> None:
    league_of(league, 2)
    league(stages.begin_final, "round-robin", 1, NOON)
    final = play_final(league)
    league(stages.end, NOON)
    for change in (games.repeat_pair, games.void_pair):
        with pytest.raises(RefusedError) as caught:
            league(change, final.rounds[0].meetings[0].pairs[0], NOON)
        assert caught.value.code == "wrong-stage"
    assert league(stages.bracket) == final


@pytest.mark.parametrize("kind", ["round-robin", "swiss", "knock-out"])
def test_upload_that_is_checked_when_the_final_has_begun_takes_nobody_out_of_it(
    league: League, kind: FinalKind
) -> None:
    best, *_ = league_of(league, 4)
    assert best.team_id is not None
    late = league.upload(best.team_id)
    league(stages.freeze, NOON)
    league(stages.begin_final, kind, 1, NOON)
    play_final(league, most=1)
    assert not league(versions.finish_check, late.id, None, NOON).is_active
    assert play_final(league).champion == "T1"
    league(stages.end, NOON)
    league(stages.back_to_practice, NOON)
    assert league(versions.take_back, best.team_id, late.id, NOON).is_active


@pytest.mark.parametrize("kind", ["swiss", "knock-out"])
def test_table_of_a_final_counts_what_its_rounds_show(league: League, kind: FinalKind) -> None:
    best, *_ = league_of(league, 4)
    assert best.team_id is not None
    league(stages.begin_final, kind, 1, NOON)
    league(teams.pause_team, best.team_id, "", NOON)
    assert play_final(league).champion == "T2"
    league(teams.resume_team, best.team_id, NOON)  # it plays its meetings after all, and others meet in the next round
    final = play_final(league)
    assert final.champion == "T1"
    met = [each for number in final.rounds for each in number.meetings if each.second is not None]
    assert sum(row.wins for row in final.table) == sum(each.score1 + each.score2 for each in met)


def test_league_is_frozen_at_its_date(league: League) -> None:
    league(change_settings, freeze_at=NOON + 10)
    assert not league(stages.keep_dates, NOON + 9)
    assert league(stages.keep_dates, NOON + 10)
    assert not league(stages.keep_dates, NOON + 11)
    assert league(load_settings).stage == "frozen"
    team = league.add_team("late")
    with pytest.raises(RefusedError) as caught:
        league.upload(team)
    assert caught.value.code == "frozen"
    league(stages.back_to_practice, NOON)
    assert not league(stages.keep_dates, NOON + 12)
    league.upload(team)


def test_stages_that_are_not_possible_are_refused(league: League) -> None:
    with pytest.raises(RefusedError, match="two teams"):
        league(stages.begin_final, "swiss", 1, NOON)
    with pytest.raises(RefusedError, match="present stage"):
        league(stages.back_to_practice, NOON)
    league_of(league, 2)
    league(stages.freeze, NOON)
    with pytest.raises(RefusedError, match="present stage"):
        league(stages.freeze, NOON)
    league(stages.begin_final, "swiss", 1, NOON)
    with pytest.raises(RefusedError, match="present stage"):
        league(stages.begin_final, "swiss", 1, NOON)
    league(stages.end, NOON)
    with pytest.raises(RefusedError, match="present stage"):
        league(stages.end, NOON)
    assert not league(stages.continue_final, NOON, random.Random(1))


def test_second_final_does_not_count_the_games_of_the_first(league: League) -> None:
    league_of(league, 3)
    league(stages.begin_final, "round-robin", 1, NOON)
    play_final(league)
    league(stages.back_to_practice, NOON)
    league(stages.begin_final, "round-robin", 1, NOON + 100)
    final = league(stages.bracket)
    assert final is not None
    assert final.champion is None
    assert all(row.games == 0 for row in final.table)


def test_there_is_no_bracket_before_a_final(league: League) -> None:
    assert league(stages.bracket) is None
