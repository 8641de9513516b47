"""Games are recorded once, and the results of the pairings are always the sum of what counts."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection

from spielleiter.league.errors import RefusedError
from spielleiter.league.games import (
    drop_old_recordings,
    games_of_pairs,
    get_game,
    get_pair,
    get_recording,
    list_games,
    list_pairs,
    missing_games,
    open_pair,
    pairing_results,
    recent_faults,
    record_game,
    repeat_pair,
    void_pair,
)
from spielleiter.league.model import PairingResult, PlayedGame
from spielleiter.league.settings import change_settings
from spielleiter.league.versions import take_back
from tests.league.leagues import NOON, League


def test_a_game_is_recorded_once(league: League) -> None:
    first, second = league.accept(league.add_team("Hasen")), league.accept(league.add_team("Igel"))
    pair = league.open_pair(first, second)
    assert league(missing_games, pair.id) == [1, 2]
    game = league.play(pair, 2, 1, replay=b"replay", stderr1=b"mine", details={"figures": [1]})
    assert game is not None
    assert league.play(pair, 2, 0) is None
    assert league(get_pair, pair.id).state == "open"
    assert league(missing_games, pair.id) == [1]
    assert league.play(pair, 1, None) is not None
    assert league(get_pair, pair.id).state == "done"
    assert league.play(pair, 1, 0) is None
    assert league.play(pair, 3, 0) is None
    assert [(each.number, each.winner) for each in league(games_of_pairs, [pair.id])] == [(2, 1), (1, None)]
    recording = league(get_recording, game)
    assert recording is not None
    assert (recording.replay, recording.stderr1, recording.stderr2) == (b"replay", b"mine", None)
    assert recording.details == {"figures": [1]}
    shown = league(get_game, game)
    assert (shown.label1, shown.label2, shown.team1) == ("Hasen v1", "Igel v1", first.team_id)


def test_results_count_pairs_by_the_points_of_the_first_version(league: League) -> None:
    first, second = league.accept(league.add_team("Hasen")), league.accept(league.add_team("Igel"))
    league.play_pair(first, second, 0, 0)
    league.play_pair(second, first, 0, None)  # half a point for `first`
    pair = league.open_pair(first, second)
    league.play(pair, 1, 0, points1=30, points2=20, offender=1)
    league.play(pair, 2, None, is_counted=False)  # the machine's fault
    assert league(pairing_results) == [
        PairingResult(first.id, second.id, (0, 1, 0, 0, 1), (0, 0, 1), 3, 1, 1, 0, 1, 30, 20)
    ]


def test_a_check_and_a_void_pair_count_for_nothing(league: League) -> None:
    first, second = league.accept(league.add_team("Hasen")), league.accept(league.add_team("Igel"))
    league.play(league.open_pair(first, second, "check", games=1), 1, 0)
    assert league(pairing_results) == []
    pair = league.play_pair(first, second, 0, 1)
    half = league.open_pair(first, second)
    league.play(half, 1, 0)
    league(void_pair, half.id, NOON)
    assert league.play(half, 2, 0) is None
    league(void_pair, half.id, NOON)
    assert [each.games for each in league(pairing_results)] == [2]
    again = league(repeat_pair, pair.id, NOON)
    assert (again.purpose, again.seed, again.first) == ("repeat", pair.seed, first.id)
    assert league(pairing_results) == []
    assert [each.is_void for each in league(games_of_pairs, [pair.id])] == [True, True]
    assert [each.id for each in league(list_pairs, state="open")] == [again.id]


def test_a_repeated_pair_of_the_final_takes_its_place(league: League) -> None:
    first, second = league.accept(league.add_team("Hasen")), league.accept(league.add_team("Igel"))
    pair = league.open_pair(first, second, "final", round=2, label="Halbfinale")
    again = league(repeat_pair, pair.id, NOON)
    assert [each.id for each in league(list_pairs, purpose="final", round=2, state="open")] == [again.id]
    assert again.label == "Halbfinale"


def test_a_pair_is_not_repeated_if_it_would_not_be_played(league: League) -> None:
    first, second = league.accept(league.add_team("Hasen")), league.accept(league.add_team("Igel"))
    pair = league.play_pair(first, second, 0, 1)
    assert second.team_id is not None
    league.accept(second.team_id)
    with pytest.raises(RefusedError) as caught:
        league(repeat_pair, pair.id, NOON)
    assert caught.value.code == "not-playing"
    league(take_back, second.team_id, second.id, NOON)
    league(change_settings, stage="over")
    with pytest.raises(RefusedError) as caught:
        league(repeat_pair, pair.id, NOON)
    assert caught.value.code == "wrong-stage"
    assert [each.games for each in league(pairing_results)] == [2]
    league(void_pair, pair.id, NOON)
    assert league(pairing_results) == []


Step = tuple[int, bool, int, int | None, bool]
"""The pair; whether it is made void, or a game of it recorded with this number, winner, and whether it counts."""
STEPS = st.tuples(st.integers(0, 3), st.booleans(), st.integers(1, 2), st.sampled_from([0, 1, None]), st.booleans())


@pytest.mark.slow
def test_results_are_the_sum_of_the_games_that_count(league: League) -> None:
    first, second = league.accept(league.add_team("Hasen")), league.accept(league.add_team("Igel"))

    def take(db: Connection, steps: list[Step]) -> None:
        sides = ((first.id, second.id), (second.id, first.id))
        pairs = [
            open_pair(db, *sides[seed % 2], purpose="league", stage="practice", seed=seed, now=NOON)
            for seed in range(4)
        ]
        for index, is_void, number, winner, is_counted in steps:
            if is_void:
                void_pair(db, pairs[index].id, NOON)
            else:
                won = winner if is_counted else None
                game = PlayedGame(
                    pair_id=pairs[index].id, number=number, winner=won, is_counted=is_counted, verdict="regular"
                )
                record_game(db, game, NOON)
        halves: dict[int, list[int]] = {}
        for each in games_of_pairs(db, [pair.id for pair in pairs]):
            if each.is_counted and not each.is_void:
                own = 0 if each.first == first.id else 1
                halves.setdefault(each.pair_id, []).append(1 if each.winner is None else 2 * (each.winner == own))
        doubles = Counter(sum(each) for each in halves.values() if len(each) == 2)
        singles = Counter(each[0] for each in halves.values() if len(each) == 1)
        found = pairing_results(db)
        assert [each.pairs for each in found] == ([tuple(doubles[each] for each in range(5))] if halves else [])
        assert [each.singles for each in found] == ([tuple(singles[each] for each in range(3))] if halves else [])
        db.rollback()  # the next example begins with the same league

    @given(st.lists(STEPS, max_size=12))
    def check(steps: list[Step]) -> None:
        league.database.read_now(take, steps)

    check()


def test_lists_of_games_are_the_newest_first_in_pages(league: League) -> None:
    teams = [league.add_team(name) for name in ("Hasen", "Igel", "Füchse")]
    versions = [league.accept(team) for team in teams]
    league.play_pair(versions[0], versions[1], 0, 1)
    league.play_pair(versions[2], versions[0], 0, 1)
    league.play_pair(versions[1], versions[2], 0, 1)
    newer = league.accept(teams[0])
    league.play_pair(newer, versions[1], 0, 1)
    everything = [each.id for each in league(list_games)]
    assert everything == sorted(everything, reverse=True)
    assert len(everything) == 8
    of_team = league(list_games, team_id=teams[0])
    assert len(of_team) == 6
    assert len(league(list_games, version_id=versions[0].id)) == 4
    page = league(list_games, team_id=teams[0], limit=2)
    rest = league(list_games, team_id=teams[0], before=page[-1].id)
    assert page + rest == of_team
    assert league(list_games, purpose="final") == []
    with pytest.raises(RefusedError):
        league(get_game, 999)


def test_the_faults_in_a_row_are_those_of_the_version_itself(league: League) -> None:
    first, second = league.accept(league.add_team("Hasen")), league.accept(league.add_team("Igel"))
    pair = league.open_pair(first, second, games=3)
    league.play(pair, 1, 1, verdict="crash", offender=0)
    league.play(pair, 2, 0, verdict="timeout", offender=1)
    league.play(pair, 3, 1, verdict="hangs", offender=0)
    assert league(recent_faults, first.id, 2) == ["hangs", None]
    assert league(recent_faults, second.id, 5) == [None, "timeout", None]


def test_old_recordings_are_dropped_and_results_stay(league: League) -> None:
    first, second = league.accept(league.add_team("Hasen")), league.accept(league.add_team("Igel"))
    for _ in range(3):
        league.play_pair(first, second, 0, 1)
    assert league(drop_old_recordings, 2) == 4
    assert league(drop_old_recordings, 2) == 0
    kept = [each.id for each in league(list_games) if league(get_recording, each.id) is not None]
    assert kept == [6, 5]
