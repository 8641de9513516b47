"""The rounds and matches that a tournament schedules as results come in."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from spielleiter.match.pairings import Reason
from spielleiter.match.plan import Entrant, Opening
from spielleiter.match.records import GameRecord
from spielleiter.match.tournament_file import KindOptions, Tournament, TournamentKind
from spielleiter.match.tournament_progress import ScheduledMatch, TournamentProgress, is_over
from spielleiter.match.verdict import Verdict
from tests.match.sample_records import absence, fault, game

NAMES = ("a", "b", "c", "d", "e")
LISTED = KindOptions(seeding="listed")


def make_tournament(kind: TournamentKind, kind_options: KindOptions = LISTED, **more: object) -> Tournament:
    entrants = tuple(Entrant(name, f"./{name}") for name in NAMES)
    return Tournament(entrants, kind, games=4, game_type="swc_2027_blokus", kind_options=kind_options, **more)  # type: ignore[arg-type]


def first_wins(_match: ScheduledMatch) -> list[GameRecord]:
    return [game(number, 0) for number in range(1, 5)]


def all_even(_match: ScheduledMatch) -> list[GameRecord]:
    return [game(number, number % 2) for number in (1, 2)]


def play(
    tournament: Tournament, records_of: Callable[[ScheduledMatch], Sequence[GameRecord]] = first_wins
) -> TournamentProgress:
    progress = TournamentProgress(tournament)
    for match in progress.schedule():
        progress.finish(match, records_of(match))
    return progress


def test_a_round_robin_has_one_round_with_all_pairings() -> None:
    progress = play(make_tournament(TournamentKind.ROUND_ROBIN))
    assert [each.encounter.pairing for each in progress.played] == progress.tournament.pairings()
    assert [match.folder for each in progress.played for match, _ in each.matches][:2] == [
        "matches/001_a_b",
        "matches/002_a_c",
    ]
    assert len(progress.rounds) == 1


def test_in_a_gauntlet_several_programs_can_be_tested() -> None:
    progress = play(make_tournament(TournamentKind.GAUNTLET, KindOptions(tested=2)))
    assert [each.encounter.pairing for each in progress.played] == [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)]


def test_winners_of_a_knock_out_meet_in_the_next_round() -> None:
    progress = play(make_tournament(TournamentKind.KNOCK_OUT))
    assert [each.encounter.pairing for each in progress.played] == [(3, 4), (0, 3), (1, 2), (0, 1)]
    assert [each.encounter.title for each in progress.played] == ["quarter-final", "semi-final", "semi-final", "final"]
    last = progress.outcomes[4]
    assert (last.winner, last.reason, last.score) == (0, Reason.SCORE, (4, 0))


def test_play_offs_decide_an_even_match() -> None:
    def records_of(match: ScheduledMatch) -> list[GameRecord]:
        return [game(1, 1), game(2, None)] if match.play_off == 2 else all_even(match)

    progress = play(make_tournament(TournamentKind.KNOCK_OUT), records_of)
    matches = [match for match, _ in progress.played[0].matches]
    assert [match.folder for match in matches] == [
        "matches/001_d_e",
        "matches/001_d_e_play-off1",
        "matches/001_d_e_play-off2",
    ]
    assert (progress.outcomes[1].winner, progress.outcomes[1].reason) == (4, Reason.PLAY_OFF)
    setups = [progress.setup_of(match, "run") for match in matches]
    assert [setup.games for setup in setups] == [4, 2, 2]
    assert len({setup.seed for setup in setups}) == 3
    assert progress.title_of(matches[0]) == "swc_2027_blokus (blokus-2027), quarter-final: d against e, 4 games"
    assert (
        progress.title_of(matches[2])
        == "swc_2027_blokus (blokus-2027), quarter-final, play-off 2: d against e, 2 games"
    )


def test_after_the_last_play_off_the_seeding_decides() -> None:
    progress = play(make_tournament(TournamentKind.KNOCK_OUT, KindOptions(seeding="listed", play_offs=2)), all_even)
    assert [len(each.matches) for each in progress.played] == [3, 3, 3, 3]
    assert [outcome.winner for outcome in progress.outcomes.values()] == [3, 0, 1, 0]
    assert {outcome.reason for outcome in progress.outcomes.values()} == {Reason.SEEDING}


def test_the_points_decide_before_the_seeding() -> None:
    def records_of(match: ScheduledMatch) -> list[GameRecord]:
        return [game(1, 0), game(2, 1, points=(0, 100))]

    progress = play(make_tournament(TournamentKind.KNOCK_OUT, KindOptions(seeding="listed", play_offs=0)), records_of)
    assert [(outcome.winner, outcome.reason) for outcome in progress.outcomes.values()][-1] == (4, Reason.POINTS)


def test_programs_that_cannot_play_have_no_play_offs() -> None:
    def records_of(match: ScheduledMatch) -> list[GameRecord]:
        return [absence(number, 0) for number in (1, 2)]

    progress = play(make_tournament(TournamentKind.KNOCK_OUT), records_of)
    assert [len(each.matches) for each in progress.played] == [1, 1, 1, 1]
    assert progress.outcomes[4].winner == 4


def test_a_swiss_tournament_pairs_by_points() -> None:
    progress = play(make_tournament(TournamentKind.SWISS, KindOptions(seeding="listed", rounds=2)))
    assert [[each.pairing for each in round_.encounters] for round_ in progress.rounds] == [
        [(0, 2), (1, 3)],
        [(0, 4), (1, 2)],
    ]
    assert [round_.byes for round_ in progress.rounds] == [(4,), (3,)]


def test_repeated_pairings_have_other_starts() -> None:
    openings = tuple(Opening(f"{number}.xml", f"/{number}.xml") for number in range(5))
    tournament = make_tournament(TournamentKind.KNOCK_OUT, openings=openings)
    setups = [
        tournament.match_of((0, 1), "run"),
        tournament.match_of((0, 1), "run", meeting=1),
        tournament.match_of((0, 1), "run", play_off=1),
        tournament.match_of((0, 1), "run", play_off=2),
    ]
    assert [setup.openings[0].name for setup in setups] == ["0.xml", "2.xml", "2.xml", "3.xml"]
    assert all(len(setup.openings) == 5 for setup in setups)
    assert len({setup.plan()[0].seed for setup in setups}) == 4


def test_pairs_of_games_are_numbered_over_all_matches_of_a_pairing() -> None:
    progress = play(make_tournament(TournamentKind.KNOCK_OUT, KindOptions(seeding="listed", play_offs=1)), all_even)
    assert [record.pair for record in progress.games_by_pairing[3, 4]] == [1, 1, 2, 2]


@pytest.mark.parametrize("kind", [TournamentKind.KNOCK_OUT, TournamentKind.SWISS])
def test_a_resumed_tournament_is_paired_like_an_uninterrupted_one(kind: TournamentKind) -> None:
    def records_of(match: ScheduledMatch) -> list[GameRecord]:
        winner = sum(match.encounter.pairing) % 3
        return [game(number, winner if winner < 2 else number % 2) for number in range(1, 5)]

    whole = play(make_tournament(kind, KindOptions()), records_of)
    matches = [match for each in whole.played for match, _ in each.matches]
    for count in range(len(matches)):
        progress = TournamentProgress(make_tournament(kind, KindOptions()))
        scheduled = progress.schedule()
        seen = []
        for expected, match in zip(matches[: count + 1], scheduled, strict=False):
            assert match == expected
            seen.append(match)
            if len(seen) <= count:
                progress.finish(match, records_of(match))
        assert progress.outcomes == {
            number: outcome for number, outcome in whole.outcomes.items() if number in progress.outcomes
        }
    assert all(first != second for first, second in pairwise(matches))


def test_records_show_whether_a_match_is_over() -> None:
    setup = make_tournament(TournamentKind.KNOCK_OUT).match_of((0, 1), "run")
    assert not is_over(setup, [])
    assert not is_over(setup, first_wins_of(3))
    assert is_over(setup, first_wins_of(4))
    failed = [fault(number, 0, Verdict.CRASH) for number in (1, 2, 3)]
    assert is_over(setup, failed)


def test_a_match_that_the_sequential_test_decided_is_over_whatever_comes_later() -> None:
    tournament = make_tournament(TournamentKind.KNOCK_OUT, sprt="elo0=0 elo1=200")
    setup = tournament.match_of((0, 1), "run")
    assert setup.games == 4
    setup = dataclasses.replace(setup, games=200)
    won = first_wins_of(80)
    assert is_over(setup, won)
    assert not is_over(setup, won[:4])
    lost = [game(number, 1) for number in range(81, 100)]
    assert is_over(setup, [*won, *lost])


def first_wins_of(count: int) -> list[GameRecord]:
    return [game(number, 0) for number in range(1, count + 1)]
