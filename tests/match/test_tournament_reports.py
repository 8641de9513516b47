"""The reports of a tournament, whether it has ended or not."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from spielleiter.common.errors import JournalError
from spielleiter.match.pairings import Pairing, ScheduledMatch
from spielleiter.match.plan import Entrant
from spielleiter.match.records import GameRecord
from spielleiter.match.reports.tournament_reports import (
    TOURNAMENT_REPORTS,
    ratings_of,
    render_report_html,
    render_table_md,
    title_of,
    write_tournament,
)
from spielleiter.match.tournament import Tournament, TournamentKind
from spielleiter.match.tournament_progress import TournamentProgress
from spielleiter.match.verdict import Attempt, Verdict
from tests.match.sample_records import absence, fault, game

NAMES = ("new", "old", "</title><b>|x\x1b[2J", "bot", "last")
USUAL: dict[str, Any] = {}
LISTED: dict[str, Any] = {"seeding": "listed"}
CUP: dict[str, Any] = {"seeding": "listed", "third_place": True}
EVEN = [game(number, number % 2) for number in range(1, 5)]
VOID = game(4, None, verdict=Verdict.OVERLOAD, is_counted=False)
Play = Callable[[ScheduledMatch], Sequence[GameRecord]]


def make_tournament(
    kind: TournamentKind = TournamentKind.ROUND_ROBIN,
    options: dict[str, Any] = USUAL,
    names: Sequence[str] = NAMES,
    **more: Any,
) -> Tournament:
    entrants = tuple(Entrant(name, "./bot") for name in names)
    usual: dict[str, Any] = {"games": 4, "game_type": "swc_2027_blokus"}
    return Tournament(entrants, kind, **(usual | options | more))


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
    return [game(1, 0), game(2, None)] if match.play_off else EVEN


def rows(text: str, section: str) -> list[list[str]]:
    (own,) = [part for part in text.split("## ") if part.startswith(f"{section}\n")]
    return [line.strip("| ").split(" | ") for line in own.splitlines() if line.startswith("| ")][1:]


def written(folder: Path, progress: TournamentProgress) -> tuple[str, ...]:
    write_tournament(folder, progress)
    assert sorted(file.name for file in folder.iterdir()) == sorted(TOURNAMENT_REPORTS)
    return tuple((folder / name).read_text() for name in TOURNAMENT_REPORTS)


@pytest.mark.parametrize(
    ("kind", "options", "title"),
    [
        (TournamentKind.ROUND_ROBIN, USUAL, "round robin of 5 programs, 4 games a match, seed 3"),
        (TournamentKind.GAUNTLET, USUAL, "gauntlet of 5 programs, 4 games a match, seed 3"),
        (
            TournamentKind.GAUNTLET,
            {"tested": 2},
            "gauntlet of 2 tested programs among 5 programs, 4 games a match, seed 3",
        ),
        (TournamentKind.KNOCK_OUT, USUAL, "knock-out of 5 programs, 4 games a match, seed 3"),
        (TournamentKind.SWISS, USUAL, "Swiss system, 3 rounds, of 5 programs, 4 games a match, seed 3"),
    ],
)
def test_the_season_and_the_kind_come_first(
    kind: TournamentKind, options: dict[str, Any], title: str, tmp_path: Path
) -> None:
    progress = play_tournament(make_tournament(kind, options, seed=3))
    table, _, whole, page = written(tmp_path, progress)
    assert title_of(progress) == f"swc_2027_blokus (blokus-2027): {title}"
    assert table.startswith(f"{title_of(progress)}\n\n## ")
    assert f"<h1>{title_of(progress)}</h1>" in page
    assert json.loads(whole)["season"] == "swc_2027_blokus (blokus-2027)"


def test_a_knock_out_shows_how_each_match_was_decided() -> None:
    text = render_table_md(play_tournament(make_tournament(TournamentKind.KNOCK_OUT, CUP), decided_by_play_off))
    assert [row[0] for row in rows(text, "Standings")] == ["1", "2", "3", "4", "5"]
    first, bye, *_, third, final = rows(text, "Matches")
    assert first[:4] == ["quarter-final", "bot – last", "4", "2 : 2 (1.5 : 0.5)"]
    assert first[-2:] == ["bot", "play-off"]
    assert bye == ["quarter-final", "new", "bye", *4 * "–"]
    assert (third[0], final[0]) == ("third place", "final")


@pytest.mark.parametrize("kind", [TournamentKind.KNOCK_OUT, TournamentKind.SWISS, TournamentKind.ROUND_ROBIN])
@pytest.mark.parametrize("stop", [0, 3])
def test_an_unfinished_tournament_has_reports(kind: TournamentKind, stop: int, tmp_path: Path) -> None:
    progress = play_tournament(make_tournament(kind, LISTED if kind.has_rounds else USUAL), stop=stop)
    table, ratings, whole, page = written(tmp_path, progress)
    etree.HTML(page)
    assert len(rows(table, "Ratings")) == len(json.loads(ratings)) == len(NAMES)
    matches = [each for round_ in json.loads(whole)["rounds"] for each in round_["matches"]]
    assert sum(each["winner"] is not None for each in matches) == stop
    assert ("| still in | " in table) is (kind is TournamentKind.KNOCK_OUT)


def test_every_match_of_a_round_robin_is_there(tmp_path: Path) -> None:
    progress = play_tournament(make_tournament())
    table, _, whole, page = written(tmp_path, progress)
    content = json.loads(whole)
    assert content["standings"] is None
    assert [each["programs"] for each in content["rounds"][0]["matches"]] == [
        [NAMES[index] for index in each.pairing] for each in progress.encounters
    ]
    assert "<caption>Matches</caption>" in page
    links = [link.get("href") for link in etree.HTML(page).iter("a")]
    assert links[:2] == ["./matches/001_new_old/report.html", "./matches/002_new__title_b_x_2J/report.html"]
    # they are in the short table only if there is more to say than who won
    assert "## Matches" not in table
    assert "## Matches" in render_table_md(play_tournament(make_tournament(), lambda _: [*EVEN[:3], VOID]))
    tested = render_table_md(play_tournament(make_tournament(sprt="elo0=0 elo1=500")))
    assert rows(tested, "Matches")[0][-1].startswith("LLR +")
    assert rows(tested, "Matches")[0][-1].endswith(": undecided")


def test_names_are_escaped(tmp_path: Path) -> None:
    table, *_, page = written(tmp_path, play_tournament(make_tournament(TournamentKind.KNOCK_OUT, CUP)))
    assert "<b>" not in page
    assert r"\x1b[2J" in page
    assert r"&lt;b&gt;\|x\\x1b\[2J" in table
    assert "\x1b" not in page + table


def test_programs_that_cannot_play_get_no_points() -> None:
    # concurrent games: both are found absent by the same game
    crashes = [fault(number, 1 - number % 2, Verdict.CRASH) for number in range(1, 5)]
    text = render_table_md(play_tournament(make_tournament(TournamentKind.SWISS, LISTED), lambda _: crashes))
    assert {row[-1] for row in rows(text, "Matches")} == {"drawn", "–"}


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="cannot be written"):
        write_tournament(tmp_path / "nowhere", play_tournament(make_tournament()))


@pytest.mark.parametrize(("games", "first"), [(28, "Points"), (30, "Ratings")])
def test_points_come_before_ratings_while_there_are_few_games(games: int, first: str) -> None:
    records = [game(1 + each, (0, 1, None)[each % 3]) for each in range(games)]
    progress = play_tournament(make_tournament(names=("new", "old"), games=games), lambda _: records)
    titles = [line for line in render_table_md(progress).splitlines() if line in {"## Points", "## Ratings"}]
    assert titles[0] == f"## {first}"
    assert len(titles) == 2


def test_points_are_counted_as_the_contest_counts_them() -> None:
    results: dict[Pairing, list[int | None]] = {(0, 1): [0, 1, None, 1], (0, 2): [0] * 4, (1, 2): [None] * 4}
    given = {0: (80, 60), 1: (60, 80), None: (70, 70)}

    def records_of(match: ScheduledMatch) -> list[GameRecord]:
        winners = results[match.encounter.pairing]
        played = [game(number, winner, points=given[winner]) for number, winner in enumerate(winners, 1)]
        return [*played, game(5, 0, is_counted=False, verdict=Verdict.OVERLOAD, points=(999, 0))]

    text = render_table_md(play_tournament(make_tournament(names=("new", "old", "last")), records_of))
    assert rows(text, "Points") == [
        ["1", "new", "11", "16", "5", "1", "2", "73.8"],
        ["2", "old", "9", "16", "2", "5", "1", "71.2"],
        ["3", "last", "4", "16", "0", "4", "4", "65.0"],
    ]


def test_what_was_tried_is_in_every_report_of_the_tournament(tmp_path: Path) -> None:
    tried = [
        game(1, 0, attempts=({}, {Attempt.SEAT: 2})),
        game(2, 0, attempts=({}, {Attempt.SEAT: 1}), foreign_connections=4),
    ]
    tournament = make_tournament(names=("new", "old"), games=2)
    table, ratings, whole, page = written(tmp_path, play_tournament(tournament, lambda _: tried))
    assert ["old", Attempt.SEAT, "3"] in rows(table, "What was tried and refused")
    assert ["(not known which)", Attempt.PORT, "4"] in rows(table, "What was tried and refused")
    assert Attempt.SEAT in page
    assert {each["name"]: each["attempts"] for each in json.loads(ratings)} == {"new": {}, "old": {Attempt.SEAT: 3}}
    content = json.loads(whole)
    assert (content["attempts"], content["foreign_connections"]) == ({"old": {Attempt.SEAT: 3}}, 4)
    assert "tried" not in render_table_md(play_tournament(tournament))


def test_a_match_with_fewer_games_says_why() -> None:
    results: dict[Pairing, list[GameRecord]] = {
        (0, 1): EVEN,
        (0, 2): [absence(1, 1), absence(2, 1)],
        (0, 3): [*EVEN[:3], VOID],
        (1, 2): [absence(1, 1), absence(2, 1)],
        (1, 3): EVEN[:2],
        (2, 3): EVEN,
    }
    tournament = make_tournament(names=("new", "old", "broken", "busy"), significance=0.05)
    progress = play_tournament(tournament, lambda match: results[match.encounter.pairing])
    assert [row[1] for row in rows(render_table_md(progress), "Matches")] == [
        "4",
        "2 of 4: broken cannot play",
        "3 of 4: 1 overloaded machine",
        "2 of 4: broken cannot play",
        "2 of 4: decided by the test",
        "4",
    ]


def test_ratings_are_differences_from_the_anchor() -> None:
    def records_of(match: ScheduledMatch) -> list[GameRecord]:
        first, second = match.encounter.pairing
        if first == 0 or second == 4:  # the best wins everything, the last one loses everything
            return first_wins(match)
        return [game(number, (0, 1, None)[number % 3]) for number in range(1, 5)]

    plain, anchored = (play_tournament(make_tournament(anchor=anchor), records_of) for anchor in (None, "old"))
    means = {line.name: line.rating for line in ratings_of(plain)}
    found = {line.name: line.rating for line in ratings_of(anchored)}
    assert (found["old"].value, found["old"].low, found["old"].high) == (0, 0, 0)
    assert all(found[name].value == pytest.approx(means[name].value - means["old"].value) for name in NAMES)
    # between programs of similar strength the extremes do not matter
    assert found["bot"].high - found["bot"].low < means["bot"].high - means["bot"].low
    assert "## Ratings: difference from old" in render_table_md(anchored)
    assert "old is 0" in render_report_html(anchored)
