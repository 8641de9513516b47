"""The rounds and matches that a tournament schedules as results come in."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from spielleiter.match.pairings import Reason, ScheduledMatch
from spielleiter.match.plan import Entrant, Opening
from spielleiter.match.records import GameRecord
from spielleiter.match.tournament import Tournament, TournamentKind
from spielleiter.match.tournament_progress import TournamentProgress, is_over
from spielleiter.match.verdict import Verdict
from tests.match.sample_records import absence, fault, game

LISTED: dict[str, Any] = {"seeding": "listed"}


def make_tournament(kind: TournamentKind, options: dict[str, Any] = LISTED, **more: Any) -> Tournament:
    entrants = tuple(Entrant(name, f"./{name}") for name in "abcde")
    return Tournament(entrants, kind, games=4, game_type="swc_2027_blokus", **options, **more)


def first_wins(_match: ScheduledMatch) -> list[GameRecord]:
    return [game(number, 0) for number in range(1, 5)]


def all_even(_match: ScheduledMatch) -> list[GameRecord]:
    return [game(number, number % 2) for number in (1, 2)]


def second_wins_a_play_off(match: ScheduledMatch) -> list[GameRecord]:
    return [game(1, 1), game(2, None)] if match.play_off == 2 else all_even(match)


def absent(_match: ScheduledMatch) -> list[GameRecord]:
    return [absence(number, 0) for number in (1, 2)]


def play(
    tournament: Tournament, records_of: Callable[[ScheduledMatch], Sequence[GameRecord]] = first_wins
) -> TournamentProgress:
    progress = TournamentProgress(tournament)
    for match in progress.schedule():
        progress.finish(match, records_of(match))
    return progress


@pytest.mark.parametrize(
    ("kind", "options", "pairings"),
    [
        (TournamentKind.ROUND_ROBIN, LISTED, [(a, b) for a in range(5) for b in range(a + 1, 5)]),
        (TournamentKind.GAUNTLET, {"tested": 2}, [(a, b) for a in range(2) for b in range(2, 5)]),
        (TournamentKind.KNOCK_OUT, LISTED, [(3, 4), (0, 3), (1, 2), (0, 1)]),
        (TournamentKind.SWISS, {"seeding": "listed", "rounds": 2}, [(0, 2), (1, 3), (0, 4), (1, 2)]),
    ],
)
def test_encounters_are_played_in_order(
    kind: TournamentKind, options: dict[str, Any], pairings: list[tuple[int, int]]
) -> None:
    progress = play(make_tournament(kind, options))
    assert [each.pairing for each in progress.encounters] == pairings
    first = pairings[0]
    assert progress.encounters[0].matches[0][0].folder == f"matches/001_{'abcde'[first[0]]}_{'abcde'[first[1]]}"


def test_play_offs_decide_an_even_match() -> None:
    progress = play(make_tournament(TournamentKind.KNOCK_OUT), second_wins_a_play_off)
    matches = [match for match, _ in progress.encounters[0].matches]
    folder = "matches/001_d_e"
    assert [match.folder for match in matches] == [folder, f"{folder}_play-off1", f"{folder}_play-off2"]
    first = progress.encounters[0]
    assert (first.winner, first.reason, first.score) == (4, Reason.PLAY_OFF, (1, 1))
    setups = [progress.setup_of(match, "run") for match in matches]
    assert [setup.games for setup in setups] == [4, 2, 2]
    assert len({setup.seed for setup in setups}) == 3
    season = "swc_2027_blokus (blokus-2027), quarter-final"
    assert progress.title_of(matches[0]) == f"{season}: d against e, 4 games"
    assert progress.title_of(matches[2]) == f"{season}, play-off 2: d against e, 2 games"


@pytest.mark.parametrize(
    ("most", "records_of", "matches", "winner", "reason"),
    [
        (2, all_even, 3, 0, Reason.SEEDING),
        (0, lambda _: [game(1, 0), game(2, 1, points=(0, 100))], 1, 4, Reason.POINTS),
        (3, absent, 1, 4, Reason.ABSENCE),
        (3, first_wins, 1, 0, Reason.SCORE),
    ],
)
def test_a_knock_out_ends_with_a_champion(
    most: int, records_of: Callable[[ScheduledMatch], Sequence[GameRecord]], matches: int, winner: int, reason: Reason
) -> None:
    options = {"seeding": "listed", "play_offs": most}
    progress = play(make_tournament(TournamentKind.KNOCK_OUT, options), records_of)
    assert [len(each.matches) for each in progress.encounters] == 4 * [matches]
    assert (progress.encounters[-1].winner, progress.encounters[-1].reason) == (winner, reason)
    # pairs of games are numbered over all matches of a pairing
    pairs = [record.pair for record in progress.games_by_pairing[3, 4]]
    assert pairs == sorted(pairs)
    assert max(map(pairs.count, pairs)) <= 2


def test_repeated_pairings_have_other_starts() -> None:
    openings = tuple(Opening(f"{number}.xml", f"/{number}.xml") for number in range(5))
    tournament = make_tournament(TournamentKind.KNOCK_OUT, openings=openings)
    meetings = [(0, 0), (1, 0), (0, 1), (0, 2)]
    setups = [tournament.match_of((0, 1), "run", meeting, play_off) for meeting, play_off in meetings]
    assert [setup.openings[0].name for setup in setups] == ["0.xml", "2.xml", "2.xml", "3.xml"]
    assert all(len(setup.openings) == 5 for setup in setups)
    assert len({setup.plan()[0].seed for setup in setups}) == 4


@pytest.mark.parametrize("kind", [TournamentKind.KNOCK_OUT, TournamentKind.SWISS])
def test_a_resumed_tournament_is_paired_like_an_uninterrupted_one(kind: TournamentKind) -> None:
    def records_of(match: ScheduledMatch) -> list[GameRecord]:
        winner = sum(match.encounter.pairing) % 3
        return [game(number, winner if winner < 2 else number % 2) for number in range(1, 5)]

    def played() -> list[object]:
        progress = play(make_tournament(kind, {}), records_of)
        decided = [(each.pairing, each.winner, each.reason) for each in progress.encounters]
        return [decided, *(match.folder for each in progress.encounters for match, _ in each.matches)]

    assert played() == played()


def won(count: int, winner: int = 0) -> list[GameRecord]:
    return [game(number, winner) for number in range(1, count + 1)]


@pytest.mark.parametrize(
    ("games", "sprt", "records", "expected"),
    [
        (4, None, [], False),
        (4, None, won(3), False),
        (4, None, won(4), True),
        (4, None, [fault(number, 0, Verdict.CRASH) for number in (1, 2, 3)], True),
        (200, "elo0=0 elo1=200", won(4), False),
        # decided by the test, whatever comes later
        (200, "elo0=0 elo1=200", [*won(80), *won(99, 1)[80:]], True),
    ],
)
def test_records_show_whether_a_match_is_over(
    games: int, sprt: str | None, records: list[GameRecord], *, expected: bool
) -> None:
    setup = make_tournament(TournamentKind.KNOCK_OUT, sprt=sprt).match_of((0, 1), "run")
    assert is_over(dataclasses.replace(setup, games=games), records) is expected
