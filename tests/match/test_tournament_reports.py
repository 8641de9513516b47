"""The reports of a tournament, whether it has ended or not."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from lxml import etree

from spielleiter.common.errors import JournalError, SetupError
from spielleiter.match.pairings import Pairing
from spielleiter.match.plan import Entrant
from spielleiter.match.records import GameRecord
from spielleiter.match.reports.tournament_reports import (
    TOURNAMENT_REPORTS,
    ratings_of,
    render_ratings,
    render_report,
    render_table,
    render_tournament,
    title_of,
    write_tournament,
)
from spielleiter.match.tournament_file import KindOptions, Tournament, TournamentKind
from spielleiter.match.tournament_progress import ScheduledMatch, TournamentProgress
from spielleiter.match.verdict import Attempt, Verdict
from tests.match.sample_records import absence, fault, game

NAMES = ("new", "old", "</title><b>|x\x1b[2J", "bot", "last")
Play = Callable[[ScheduledMatch], Sequence[GameRecord]]


USUAL = KindOptions()


def make_tournament(kind: TournamentKind, kind_options: KindOptions = USUAL, **more: object) -> Tournament:
    entrants = tuple(Entrant(name, "./bot") for name in NAMES)
    return Tournament(entrants, kind, games=4, game_type="swc_2027_blokus", kind_options=kind_options, **more)  # type: ignore[arg-type]


def first_wins(_match: ScheduledMatch) -> list[GameRecord]:
    return [game(number, 0) for number in range(1, 5)]


def play_tournament(tournament: Tournament, play: Play = first_wins, stop: int | None = None) -> TournamentProgress:
    progress = TournamentProgress(tournament)
    for number, match in enumerate(progress.schedule()):
        if number == stop:
            break
        progress.finish(match, play(match))
    return progress


def decided_by_play_off(match: ScheduledMatch) -> list[GameRecord]:
    if match.play_off:
        return [game(1, 0), game(2, None)]
    return [game(number, number % 2) for number in range(1, 5)]


LISTED = KindOptions(seeding="listed")
CUP = KindOptions(seeding="listed", third_place=True)


@pytest.mark.parametrize(
    ("tournament", "title"),
    [
        (make_tournament(TournamentKind.ROUND_ROBIN), "round robin of 5 programs, 4 games a match, seed 0"),
        (make_tournament(TournamentKind.GAUNTLET), "gauntlet of 5 programs, 4 games a match, seed 0"),
        (
            make_tournament(TournamentKind.GAUNTLET, KindOptions(tested=2)),
            "gauntlet of 2 tested programs among 5 programs, 4 games a match, seed 0",
        ),
        (make_tournament(TournamentKind.KNOCK_OUT, seed=3), "knock-out of 5 programs, 4 games a match, seed 3"),
        (make_tournament(TournamentKind.SWISS), "Swiss system, 3 rounds, of 5 programs, 4 games a match, seed 0"),
    ],
)
def test_the_season_and_the_kind_come_first(tournament: Tournament, title: str) -> None:
    progress = play_tournament(tournament)
    assert title_of(progress) == f"swc_2027_blokus (blokus-2027): {title}"
    assert render_table(progress).startswith(f"{title_of(progress)}\n\n## ")
    assert f"<h1>{title_of(progress)}</h1>" in render_report(progress)
    assert json.loads(render_tournament(progress))["season"] == "swc_2027_blokus (blokus-2027)"


def rows(text: str, section: str) -> list[list[str]]:
    (own,) = [part for part in text.split("## ") if part.startswith(f"{section}\n")]
    return [line.split(" | ") for line in own.splitlines() if line.startswith("| ")][1:]


def test_a_knock_out_shows_how_each_match_was_decided() -> None:
    text = render_table(play_tournament(make_tournament(TournamentKind.KNOCK_OUT, CUP), decided_by_play_off))
    assert [row[0] for row in rows(text, "Standings")] == ["| 1", "| 2", "| 3", "| 4", "| 5"]
    first, bye, *_ = rows(text, "Matches")
    assert first[:4] == ["| quarter-final", "bot – last", "4", "2 : 2 (1.5 : 0.5)"]
    assert first[-2:] == ["bot", "play-off |"]
    assert bye == ["| quarter-final", "new", "bye", "–", "–", "–", "– |"]
    assert [row[0] for row in rows(text, "Matches")][-2:] == ["| third place", "| final"]


@pytest.mark.parametrize("kind", [TournamentKind.KNOCK_OUT, TournamentKind.SWISS, TournamentKind.ROUND_ROBIN])
@pytest.mark.parametrize("stop", [0, 1, 2, 3])
def test_an_unfinished_tournament_has_reports(kind: TournamentKind, stop: int) -> None:
    progress = play_tournament(make_tournament(kind, LISTED if kind.has_rounds else KindOptions()), stop=stop)
    etree.HTML(render_report(progress))
    assert len(rows(render_table(progress), "Ratings")) == len(NAMES)
    content = json.loads(render_tournament(progress))
    matches = [each for round_ in content["rounds"] for each in round_["matches"]]
    assert sum(each["winner"] is not None for each in matches) == stop
    if kind is TournamentKind.KNOCK_OUT:
        assert "| still in | " in render_table(progress)


def test_the_matches_of_a_round_robin_are_only_on_the_page_unless_there_is_a_test() -> None:
    progress = play_tournament(make_tournament(TournamentKind.ROUND_ROBIN))
    assert "## Matches" not in render_table(progress)
    assert "<caption>Matches</caption>" in render_report(progress)
    tested = render_table(play_tournament(make_tournament(TournamentKind.ROUND_ROBIN, sprt="elo0=0 elo1=500")))
    assert rows(tested, "Matches")[0][-1].startswith("LLR +")
    assert rows(tested, "Matches")[0][-1].endswith(": undecided |")


def test_matches_link_to_their_reports() -> None:
    page = etree.HTML(render_report(play_tournament(make_tournament(TournamentKind.SWISS, LISTED))))
    links = [link.get("href") for link in page.iter("a")]
    assert links[:2] == [
        "./matches/001_new__title_b_x_2J/report.html",
        "./matches/002_old_bot/report.html",
    ]


def test_names_are_escaped() -> None:
    progress = play_tournament(make_tournament(TournamentKind.KNOCK_OUT, CUP))
    page, table = render_report(progress), render_table(progress)
    assert "<b>" not in page
    assert r"\x1b[2J" in page
    assert r"&lt;b&gt;\|x\\x1b\[2J" in table
    assert "\x1b" not in page + table


def test_programs_that_cannot_play_get_no_points() -> None:
    def neither(match: ScheduledMatch) -> list[GameRecord]:
        # concurrent games: both are found absent by the same game
        return [
            fault(1, 0, Verdict.CRASH),
            fault(2, 1, Verdict.CRASH),
            fault(3, 0, Verdict.CRASH),
            fault(4, 1, Verdict.CRASH),
        ]

    text = render_table(play_tournament(make_tournament(TournamentKind.SWISS, LISTED), neither))
    assert {row[-1] for row in rows(text, "Matches")} == {"drawn |", "– |"}


def test_reports_are_written_atomically(tmp_path: Path) -> None:
    progress = play_tournament(make_tournament(TournamentKind.KNOCK_OUT))
    write_tournament(tmp_path, progress)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(TOURNAMENT_REPORTS)
    assert [line["name"] for line in json.loads((tmp_path / "table.json").read_text())]
    with pytest.raises(JournalError, match="cannot be written"):
        write_tournament(tmp_path / "nowhere", progress)


def test_every_pairing_of_a_round_robin_is_there() -> None:
    progress = play_tournament(make_tournament(TournamentKind.ROUND_ROBIN))
    pairings: list[Pairing] = [each.encounter.pairing for each in progress.played]
    content = json.loads(render_tournament(progress))
    assert [each["programs"] for each in content["rounds"][0]["matches"]] == [
        [NAMES[first], NAMES[second]] for first, second in pairings
    ]
    assert content["standings"] is None


@pytest.mark.parametrize(("games", "first"), [(4, "Points"), (28, "Points"), (30, "Ratings")])
def test_points_come_before_ratings_while_there_are_few_games(games: int, first: str) -> None:
    entrants = Entrant("new", "./bot"), Entrant("old", "./bot")
    tournament = Tournament(entrants, games=games, game_type="swc_2027_blokus")
    winners = (0, 1, None)
    progress = play_tournament(tournament, lambda _: [game(1 + each, winners[each % 3]) for each in range(games)])
    titles = [line for line in render_table(progress).splitlines() if line in {"## Points", "## Ratings"}]
    assert titles[0] == f"## {first}"
    assert sorted(titles) == ["## Points", "## Ratings"]


def test_points_are_counted_as_the_contest_counts_them() -> None:
    tournament = Tournament(
        tuple(Entrant(name, "./bot") for name in ("new", "old", "last")), games=4, game_type="swc_2027_blokus"
    )
    results: dict[Pairing, list[int | None]] = {
        (0, 1): [0, 1, None, 1],
        (0, 2): [0, 0, 0, 0],
        (1, 2): [None, None, None, None],
    }
    given = {0: (80, 60), 1: (60, 80), None: (70, 70)}

    def records_of(match: ScheduledMatch) -> list[GameRecord]:
        winners = results[match.encounter.pairing]
        played = [game(number, winner, points=given[winner]) for number, winner in enumerate(winners, 1)]
        return [*played, game(5, 0, is_counted=False, verdict=Verdict.OVERLOAD, points=(999, 0))]

    lines = render_table(play_tournament(tournament, records_of)).splitlines()
    begin = lines.index("## Points") + 4
    assert lines[begin : begin + 3] == [
        "| 1 | new | 11 | 16 | 5 | 1 | 2 | 73.8 |",
        "| 2 | old | 9 | 16 | 2 | 5 | 1 | 71.2 |",
        "| 3 | last | 4 | 16 | 0 | 4 | 4 | 65.0 |",
    ]


def test_what_was_tried_is_in_every_report_of_the_tournament() -> None:
    entrants = Entrant("new", "./bot"), Entrant("old", "./bot")
    tournament = Tournament(entrants, games=2, game_type="swc_2027_blokus")
    tried = [
        game(1, 0, attempts=({}, {Attempt.SEAT: 2})),
        game(2, 0, attempts=({}, {Attempt.SEAT: 1}), foreign_connections=4),
    ]
    progress = play_tournament(tournament, lambda _: tried)
    for line in (f"| old | {Attempt.SEAT} | 3 |", f"| (not known which) | {Attempt.PORT} | 4 |"):
        assert line in render_table(progress)
    assert Attempt.SEAT in render_report(progress)
    programs = json.loads(render_ratings(progress))
    assert {each["name"]: each["attempts"] for each in programs} == {"new": {}, "old": {Attempt.SEAT: 3}}
    whole = json.loads(render_tournament(progress))
    assert (whole["attempts"], whole["foreign_connections"]) == ({"old": {Attempt.SEAT: 3}}, 4)
    assert "tried" not in render_table(play_tournament(tournament))


def test_a_match_with_fewer_games_says_why() -> None:
    names = ("new", "old", "broken", "busy")
    tournament = Tournament(
        tuple(Entrant(name, "./bot") for name in names), games=4, game_type="swc_2027_blokus", significance=0.05
    )
    whole = [game(number, number % 2) for number in range(1, 5)]
    results: dict[Pairing, list[GameRecord]] = {
        (0, 1): whole,
        (0, 2): [absence(1, 1), absence(2, 1)],
        (0, 3): [*whole[:3], game(4, None, verdict=Verdict.OVERLOAD, is_counted=False)],
        (1, 2): [absence(1, 1), absence(2, 1)],
        (1, 3): whole[:2],
        (2, 3): whole,
    }
    progress = play_tournament(tournament, lambda match: results[match.encounter.pairing])
    assert [row[1] for row in rows(render_table(progress), "Matches")] == [
        "4",
        "2 of 4: broken cannot play",
        "3 of 4: 1 overloaded machine",
        "2 of 4: broken cannot play",
        "2 of 4: decided by the test",
        "4",
    ]


def test_a_round_robin_shows_its_matches_if_games_are_missing() -> None:
    void = game(4, None, verdict=Verdict.OVERLOAD, is_counted=False)
    missing = play_tournament(make_tournament(TournamentKind.ROUND_ROBIN), lambda match: [*first_wins(match)[:3], void])
    assert "## Matches" in render_table(missing)
    assert "## Matches" not in render_table(play_tournament(make_tournament(TournamentKind.ROUND_ROBIN)))


def test_ratings_are_differences_from_the_anchor() -> None:
    def records_of(match: ScheduledMatch) -> list[GameRecord]:
        first, second = match.encounter.pairing
        if first == 0 or second == 4:  # the best wins everything, the last one loses everything
            return [game(number, 0) for number in range(1, 5)]
        return [game(number, (0, 1, None)[number % 3]) for number in range(1, 5)]

    plain = play_tournament(make_tournament(TournamentKind.ROUND_ROBIN), records_of)
    anchored = play_tournament(make_tournament(TournamentKind.ROUND_ROBIN, anchor="old"), records_of)
    widths = {line.name: line.rating.high - line.rating.low for line in ratings_of(plain)}
    found = {line.name: line.rating for line in ratings_of(anchored)}
    assert (found["old"].value, found["old"].low, found["old"].high) == (0, 0, 0)
    means = {line.name: line.rating.value for line in ratings_of(plain)}
    assert all(found[name].value == pytest.approx(means[name] - means["old"]) for name in NAMES)
    # between programs of similar strength the extremes do not matter
    assert found["bot"].high - found["bot"].low < widths["bot"]
    assert "## Ratings: difference from old" in render_table(anchored)
    assert "old is 0" in render_report(anchored)
    with pytest.raises(SetupError, match="anchor 'nobody'"):
        make_tournament(TournamentKind.ROUND_ROBIN, anchor="nobody")
