"""The summary of a match: every number is recomputed from games.jsonl by independent code."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import random
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from spielleiter.match.records import GameRecord
from spielleiter.match.reports.match_reports import render_html, render_markdown, write_reports
from spielleiter.match.statistics import Estimate, Sprt, elo_of_score
from spielleiter.match.summary import (
    MAX_POINTS,
    SIGNIFICANCE,
    StartSummary,
    chi_squared_tail,
    homogeneity,
    progression_of,
    summarise,
    summarise_machines,
)
from spielleiter.match.verdict import UNCOUNTED_VERDICTS, VERDICTS, Attempt, Verdict
from tests.cli.background import run
from tests.match.sample_records import fault, game, whole_match

COLUMN = {
    "does not start": "crashes", "never joins": "crashes", "dies": "crashes", "crash": "crashes", "leaves": "crashes",
    "tampers with its supervisor": "crashes", "timeout": "timeouts", "hangs": "timeouts",
    "illegal move": "illegal_moves", "bad message": "bad_messages", "speaks nonsense": "bad_messages",
    "leaves processes behind": "leftovers", "does not end": "leftovers",
}  # fmt: skip
"""The column of each verdict that blames a program."""


def check_folder(folder: Path) -> None:
    """Assert that summary.json, games.csv and junit.xml agree with games.jsonl."""
    lines = (folder / "games.jsonl").read_text(encoding="utf-8").splitlines()
    games = sorted((json.loads(line) for line in lines), key=lambda game: game["game"])
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    check_counts(games, summary)
    check_pairs(games, summary)
    check_times(games, summary)
    with (folder / "games.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row, each in zip(rows, games, strict=True):
        assert (int(row["game"]), row["verdict"]) == (each["game"], each["verdict"])
        assert [row["points1"], row["points2"]] == ["" if points is None else str(points) for points in each["points"]]
    root = ET.parse(folder / "junit.xml").getroot()
    assert len(root.findall(".//testcase")) == len(games)
    assert len(root.findall(".//failure")) == sum(each["offender"] is not None for each in games)


def check_counts(games: list[dict[str, Any]], summary: dict[str, Any]) -> None:
    counted = [each for each in games if each["is_counted"]]
    assert (summary["played"], summary["counted"]) == (len(games), len(counted))
    won = [sum(each["winner"] == program for each in counted) for program in (0, 1)]
    drawn = len(counted) - sum(won)
    assert summary["results"] == {"wins": won[0], "draws": drawn, "losses": won[1]}
    assert summary["score"] == pytest.approx((2 * won[0] + drawn) / (2 * len(counted)))
    assert summary["verdicts"] == Counter(each["verdict"] for each in games)
    assert list(summary["verdicts"]) == [each for each in VERDICTS if each in summary["verdicts"]]
    for program, side in enumerate(summary["programs"]):
        assert (side["wins"], side["draws"], side["losses"]) == (won[program], drawn, won[1 - program])
        faults = Counter(COLUMN[each["verdict"]] for each in games if each["offender"] == program)
        assert {column: side[column] for column in COLUMN.values()} == {each: faults[each] for each in COLUMN.values()}
        tried: Counter[str] = Counter()
        for each in games:
            tried.update(each["attempts"][program])
        assert side["attempts"] == tried
    assert summary["foreign_connections"] == sum(each["foreign_connections"] for each in games)
    starts = Counter((each["start"], each["seats"].index(0)) for each in counted)
    found = {(each["start"], each["seat"]): each["wins"] + each["draws"] + each["losses"] for each in summary["starts"]}
    assert found == starts
    assert summary["started_at"] == min(each["started_at"] for each in games)


def check_pairs(games: list[dict[str, Any]], summary: dict[str, Any]) -> None:
    pairs: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for each in games:
        if each["is_counted"]:
            pairs[each["pair"]].append(each)
    whole = [pair for pair in pairs.values() if len(pair) == 2]
    scores = [sum({0: 1.0, 1: 0.0, None: 0.5}[each["winner"]] for each in pair) / 2 for pair in whole]
    assert summary["pairs"] == [scores.count(kind / 4) for kind in range(5)]
    played_out = {"regular", "leaves processes behind", "does not end"}
    usable = [
        [each["points"] for each in pair]
        for pair in whole
        if all(each["verdict"] in played_out and None not in each["points"] for each in pair)
    ]
    views: list[tuple[Any, Callable[[list[int]], int]]] = [
        (summary["point_difference"], lambda points: points[0] - points[1]),
        (summary["programs"][0]["points"], lambda points: points[0]),
        (summary["programs"][1]["points"], lambda points: points[1]),
    ]
    for estimate, view in views:
        values = [(view(one) + view(other)) / 2 for one, other in usable]
        assert (estimate is None) == (len(values) < 2)
        if estimate is not None:
            assert estimate["value"] == pytest.approx(statistics.fmean(values))


def check_times(games: list[dict[str, Any]], summary: dict[str, Any]) -> None:
    edges = [math.inf if edge is None else edge for edge in summary["histogram_edges"]]
    for program, side in enumerate(summary["programs"]):
        times = sorted(time for each in games for time in each["think_times"][program])
        found = side["think_times"]
        assert found["answers"] == len(times)
        assert found["total"] == pytest.approx(sum(times))
        assert found["max"] == times[-1]
        for name, share in (("median", 0.5), ("p95", 0.95)):
            below, upto = sum(time < found[name] for time in times), sum(time <= found[name] for time in times)
            assert below < share * len(times) <= upto
        lower = 0.0
        for edge, count in zip(edges, found["histogram"], strict=True):
            assert count == sum(lower < time <= edge for time in times)
            lower = edge
        assert side["cpu_seconds"] == pytest.approx(sum(each["cpu_seconds"][program] for each in games))
        assert side["processor_share"] == pytest.approx(side["cpu_seconds"] / sum(times))


def write(folder: Path, records: list[GameRecord]) -> None:
    lines = [json.dumps(record.to_json()) + "\n" for record in records]
    (folder / "games.jsonl").write_text("".join(lines), encoding="utf-8")
    write_reports(folder, summarise(records, sprt=Sprt(0, 50)), records)


@pytest.mark.parametrize("pairs", [1, 2, 40])
def test_regular_matches(tmp_path: Path, pairs: int) -> None:
    write(tmp_path, whole_match(pairs, seed=pairs))
    check_folder(tmp_path)


def test_a_match_in_which_everything_went_wrong(tmp_path: Path) -> None:
    records = [
        *whole_match(10),
        game(21, think_times=((0.001, 0.0011, 10.0, 10.1), ())),  # on the edges of the histogram
        game(22, 1, start=None, attempts=({Attempt.SEAT: 2}, {Attempt.PORT: 1}), foreign_connections=3),
    ]
    for number, verdict in enumerate(VERDICTS[1:], 23):
        if verdict in UNCOUNTED_VERDICTS:
            records.append(game(number, None, verdict=verdict, is_counted=False, points=(None, None)))
        else:
            records += [fault(2 * number, 0, verdict), fault(2 * number + 1, 1, verdict)]
    write(tmp_path, records[::-1])  # the order does not matter
    check_folder(tmp_path)
    assert summarise(records).programs[0].faults == len(VERDICTS) - 1 - len(UNCOUNTED_VERDICTS)


@pytest.mark.slow
def test_a_match_between_real_programs(tmp_path: Path, late_book: Path) -> None:
    players = ["--player1", "builtin:first", "--player2", "builtin:random"]
    options = ["-n", "2", "-j", "2", "--seed", "1", "--book", str(late_book), "--pages", "none"]
    result = run("match", *players, *options, "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    check_folder(tmp_path / "out")


# -- what is told beside the numbers ----------------------------------------------------------------------------------


def test_results_by_start_and_seat() -> None:
    records = [
        game(1, 0, start="A", points=(9, 4)),
        game(2, 1, start="A", points=(3, 4)),
        game(3, None, start="A", points=(5, 5)),
        fault(4, 0, Verdict.CRASH, start="A"),
        game(5, 0, start=None, points=(1, 0)),
        game(6, None, start="A", is_counted=False, verdict=Verdict.CANCELLED, reason="oh"),
    ]
    summary = summarise(records)
    assert summary.starts == (
        StartSummary(None, 0, 1, 0, 0, 1.0),
        StartSummary("A", 0, 1, 1, 0, 2.5),
        StartSummary("A", 1, 0, 0, 2, -1.0),
    )
    assert summary.incidents == (records[3], records[5])
    assert summary.uncounted == 1


def voided(number: int, program: int) -> GameRecord:
    causes = ("SOFT_TIMEOUT", "REGULAR") if program == 0 else ("REGULAR", "SOFT_TIMEOUT")
    return game(number, None, verdict=Verdict.OVERLOAD, causes=causes, is_counted=False)


def test_games_that_an_overloaded_machine_voids_are_counted_for_the_slow_program() -> None:
    timeout = fault(9, 1, Verdict.TIMEOUT, causes=("REGULAR", "SOFT_TIMEOUT"))
    few = summarise([game(1), voided(2, 1), voided(3, 1), voided(4, 0), timeout])
    assert [program.overloads for program in few.programs] == [1, 2]
    assert few.often_overloaded == ()
    many = summarise([game(1), voided(2, 1), voided(3, 1), voided(4, 1)])
    assert many.often_overloaded == (many.programs[1],)
    assert summarise([voided(n, 1) if n < 4 else game(n) for n in range(1, 201)]).often_overloaded == ()


def test_the_state_of_the_sequential_test_is_in_the_summary() -> None:
    won = [game(number, 0) for number in range(1, 81)]
    undecided, decided = (summarise(won[:count], sprt=Sprt(0, 50, 0.1, 0.2)).sprt for count in (4, 80))
    assert undecided is not None
    assert decided is not None
    assert (decided.test, decided.decision) == (Sprt(0, 50, 0.1, 0.2), "H1")
    assert (decided.test.lower, decided.test.upper) == pytest.approx((math.log(0.2 / 0.9), math.log(8)))
    assert undecided.decision is None
    assert undecided.log_likelihood_ratio < decided.test.upper <= decided.log_likelihood_ratio


def test_a_match_without_games_has_a_summary() -> None:
    summary = summarise([], names=("a", "b"), planned=10, sprt=Sprt(0, 5))
    assert (summary.names, summary.played, summary.elo, summary.started_at) == (("a", "b"), 0, None, None)
    assert summarise([]).names == ("player1", "player2")
    assert progression_of([]) == progression_of([game(1)]) == ()


def test_json_has_neither_infinity_nor_minus_zero() -> None:
    value = json.loads(json.dumps(summarise([game(number) for number in range(1, 13)]).to_json(), allow_nan=False))
    assert value["elo"]["value"] is None
    assert value["elo"]["low"] == pytest.approx(elo_of_score((1 + 2.570582**2 / 5) ** -0.5), abs=1e-3)
    even = dataclasses.replace(summarise([game(1, 0), game(2, 1)]), point_difference=Estimate(-0.0, -0.0, 0.0))
    assert "-0.0" not in re.findall(r"-?[\d.]+", json.dumps(even.to_json()))


def test_a_point_of_the_progression_equals_the_summary_of_its_games() -> None:
    records, test = whole_match(30), Sprt(0, 50, model="normalized")
    points = progression_of(records, test)
    assert [point.games for point in points] == list(range(2, 61, 2))
    for point in (points[0], points[-1]):
        summary = summarise(records[: point.games], sprt=test)
        assert summary.elo == point.elo
        assert summary.sprt is not None
        assert summary.sprt.log_likelihood_ratio == point.log_likelihood_ratio


@pytest.mark.parametrize("games", [3, 240, 241, 1001])
def test_the_last_point_is_after_the_last_game(games: int) -> None:
    points = progression_of([game(number, (0, 1, None)[number % 3]) for number in range(1, games + 1)])
    assert points[-1].games == games
    assert len(points) <= MAX_POINTS + 1


# -- the machines of a cluster ----------------------------------------------------------------------------------------


# the upper percentage points of M. Abramowitz and I. Stegun, table 26.8
@pytest.mark.parametrize(
    ("degrees", "value", "tail"), [(1, 3.84146, 0.05), (2, 5.99146, 0.05), (3, 11.3449, 0.01), (4, 13.2767, 0.01)]
)
def test_the_tail_of_chi_squared_agrees_with_published_tables(degrees: int, value: float, tail: float) -> None:
    assert chi_squared_tail(value, degrees) == pytest.approx(tail, rel=1e-4)
    assert chi_squared_tail(0, degrees) == 1


def test_two_groups_are_compared() -> None:
    # 2 x 2: chi-squared = 100 (30·30 - 20·20)² / 50⁴ = 4, with one degree of freedom
    assert homogeneity([30, 20], [20, 30]) == pytest.approx(chi_squared_tail(4, 1))
    assert homogeneity([10, 0, 20, 0, 10], [20, 0, 40, 0, 20]) == pytest.approx(1)
    # sparse classes are merged, and few pairs give no answer
    assert homogeneity([30, 18, 1, 1, 0], [20, 28, 1, 1, 0]) == homogeneity([30, 20], [20, 30])
    assert homogeneity([5, 0, 0, 0, 0], [0, 0, 0, 0, 5]) is homogeneity([], []) is None


def test_equal_machines_seldom_warn() -> None:
    rng = random.Random(1)
    warnings = 0
    for _ in range(400):
        groups = [[0] * 5 for _ in range(4)]
        for pair in range(200):
            groups[pair % 4][rng.choices(range(5), (1, 2, 3, 2, 1))[0]] += 1
        total = [sum(each) for each in zip(*groups, strict=True)]
        p_values = [homogeneity(each, [all_ - own for all_, own in zip(total, each, strict=True)]) for each in groups]
        warnings += any(p is not None and 4 * p < SIGNIFICANCE for p in p_values)
    assert warnings <= 10  # 4 are expected


def on(machine: str, records: list[GameRecord]) -> list[GameRecord]:
    return [dataclasses.replace(record, machine=machine) for record in records]


def test_the_games_of_each_machine_are_counted() -> None:
    records = on("pc1", [game(1, 0), game(2, None)]) + on("pc2", [fault(3, 0, Verdict.TIMEOUT), game(4, 1)])
    first, second = summarise_machines(records)
    assert (first.name, first.games, first.wins, first.draws, first.losses) == ("pc1", 2, 1, 1, 0)
    assert (first.points, first.think_medians, first.time_losses) == ((75, 65), (0.1, 0.01), 0)
    assert (second.name, second.losses, second.time_losses, second.points) == ("pc2", 2, 1, (60, 80))
    assert first.p_value is second.p_value is None
    assert summarise_machines([game(1), game(2)]) == ()


def test_reports_show_the_machines_and_warn_of_one_that_decides_differently() -> None:
    usual, strange = on("pc1", whole_match(40)), on("pc<2>", [game(number, 1) for number in range(81, 161)])
    summary = summarise(usual + strange)
    assert [each.is_different for each in summary.machines] == [True, True]
    page, text = render_html(summary, usual + strange), render_markdown(summary)
    assert "pc&lt;2&gt; decides differently from the other machines" in page
    assert "pc1 decides differently" in text
    assert "| Machine | Games |" in text
    assert summary.to_json()["machines"][1]["games"] == 80
    assert "decides differently" not in render_markdown(summarise(usual))
    assert "Machine" not in render_markdown(summarise(whole_match(3)))
