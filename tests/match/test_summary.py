"""The summary of a match: every number is recomputed in another way."""

from __future__ import annotations

import dataclasses
import json
import math
import random
import re
from statistics import fmean, median

import pytest

from spielleiter.match.records import GameRecord
from spielleiter.match.reports.match_reports import render_html, render_markdown
from spielleiter.match.statistics import Estimate, Sprt, Tally, elo_of_score
from spielleiter.match.summary import (
    HISTOGRAM_EDGES,
    MAX_POINTS,
    SIGNIFICANCE,
    Incident,
    StartSummary,
    chi_squared_tail,
    homogeneity,
    progression_of,
    summarise,
    summarise_machines,
)
from spielleiter.match.verdict import (
    BAD_MESSAGE_VERDICTS,
    CRASH_VERDICTS,
    ILLEGAL_VERDICTS,
    LEFTOVER_VERDICTS,
    TIMEOUT_VERDICTS,
    UNCOUNTED_VERDICTS,
    VERDICTS,
    Verdict,
)
from tests.match.sample_records import NAMES, fault, game, whole_match

FAULTS = [verdict for verdict in VERDICTS if verdict not in {Verdict.REGULAR, *UNCOUNTED_VERDICTS}]


def test_results_are_those_of_the_records() -> None:
    records = whole_match(30)
    summary = summarise(records, planned=60)
    for program, side in enumerate(summary.programs):
        assert side.name == NAMES[program]
        assert side.wins == sum(record.winner == program for record in records)
        assert side.losses == sum(record.winner == 1 - program for record in records)
        assert side.draws == sum(record.winner is None for record in records)
        assert side.points is not None
        assert side.points.value == pytest.approx(fmean(record.points[program] or 0 for record in records))
    assert (summary.played, summary.planned, summary.uncounted) == (60, 60, 0)
    assert sum(summary.pairs) == 30
    halves = sum(index * count for index, count in enumerate(summary.pairs))
    assert halves / 2 == sum({0: 1.0, 1: 0.0, None: 0.5}[record.winner] for record in records)
    assert summary.verdicts == (("regular", 60),)
    assert summary.started_at == "2021-03-04T05:06:00.000000+00:00"


def test_the_order_of_the_records_does_not_matter() -> None:
    records = whole_match(10)
    shuffled = random.Random(3).sample(records, len(records))
    assert summarise(shuffled, sprt=Sprt(0, 50)) == summarise(records, sprt=Sprt(0, 50))


@pytest.mark.parametrize("verdict", FAULTS)
@pytest.mark.parametrize("offender", [0, 1])
def test_each_fault_is_counted_once_and_to_its_program(verdict: str, offender: int) -> None:
    summary = summarise([game(1), fault(2, offender, verdict), fault(3, offender, verdict)])
    guilty, innocent = summary.programs[offender], summary.programs[1 - offender]
    counts = (guilty.crashes, guilty.timeouts, guilty.illegal_moves, guilty.bad_messages, guilty.leftovers)
    columns = (CRASH_VERDICTS, TIMEOUT_VERDICTS, ILLEGAL_VERDICTS, BAD_MESSAGE_VERDICTS, LEFTOVER_VERDICTS)
    assert counts == tuple(2 * (verdict in column) for column in columns)
    assert (guilty.faults, innocent.faults) == (2, 0)
    assert guilty.losses >= 2
    assert dict(summary.verdicts) == {"regular": 1, verdict: 2}


def test_games_in_which_the_server_failed_do_not_count() -> None:
    failed = game(2, None, is_counted=False, verdict=Verdict.SERVER_FAILED, points=(None, None))
    summary = summarise([game(1), failed])
    assert (summary.results.games, summary.uncounted, sum(summary.pairs)) == (1, 1, 0)
    assert summary.elo is None
    assert [side.draws for side in summary.programs] == [0, 0]


def test_think_times_are_computed_over_all_answers() -> None:
    records = whole_match(5)
    for program, side in enumerate(summarise(records).programs):
        times = sorted(time for record in records for time in record.think_times[program])
        assert side.think_times.answers == len(times) == 200
        assert side.think_times.median == times[99] == pytest.approx(median(times), rel=0.05)
        assert side.think_times.p95 == times[189]
        assert side.think_times.max == times[-1]
        assert side.think_times.total == pytest.approx(sum(times))
        assert sum(side.think_times.histogram) == 200
        lower = 0.0
        for edge, count in zip(HISTOGRAM_EDGES, side.think_times.histogram, strict=True):
            assert count == sum(lower < time <= edge for time in times)
            lower = edge
        assert side.cpu_seconds == pytest.approx(sum(record.cpu_seconds[program] for record in records))
        assert side.processor_share == pytest.approx(side.cpu_seconds / sum(times))


def test_a_think_time_on_an_edge_of_the_histogram_counts_below_it() -> None:
    histogram = (
        summarise([game(1, think_times=((0.0, 0.001, 0.0011, 10.0, 10.1), ()))]).programs[0].think_times.histogram
    )
    assert histogram == (2, 1, *[0] * 10, 1, 1)


def test_results_by_start_and_seat() -> None:
    records = [
        game(1, 0, start="A", points=(9, 4)),
        game(2, 1, start="A", points=(3, 4)),
        game(3, None, start="A", points=(5, 5)),
        fault(4, 0, Verdict.CRASH, start="A"),
        game(5, 0, start=None, points=(1, 0)),
        game(6, None, start="A", is_counted=False, verdict=Verdict.CANCELLED),
    ]
    assert summarise(records).starts == (
        StartSummary(None, 0, 1, 0, 0, 1.0),
        StartSummary("A", 0, 1, 1, 0, 2.5),
        StartSummary("A", 1, 0, 0, 2, -1.0),
    )


def test_all_incidents_are_listed() -> None:
    overload = game(3, None, verdict=Verdict.OVERLOAD, reason="2.1 s, 0.9 s of it waiting", is_counted=False)
    summary = summarise([game(1), fault(2, 1, Verdict.CRASH, reason="signal 11"), overload])
    assert summary.incidents == (
        Incident(2, "crash", 1, "signal 11"),
        Incident(3, "overloaded machine", None, "2.1 s, 0.9 s of it waiting"),
    )
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


def test_leftover_processes_do_not_change_results() -> None:
    records = [game(number, verdict=Verdict.LEFTOVERS, offender=1, points=(9, 4)) for number in (1, 2, 3, 4)]
    summary = summarise(records)
    assert summary.results == Tally(4, 0, 0)
    assert summary.point_difference is not None
    assert summary.point_difference.value == 5
    assert [start.point_difference for start in summary.starts] == [5, 5]


@pytest.mark.parametrize(("pairs", "decision"), [(2, None), (40, "H1")])
def test_the_state_of_the_sequential_test_is_in_the_summary(pairs: int, decision: str | None) -> None:
    state = summarise([game(number, 0) for number in range(1, 2 * pairs + 1)], sprt=Sprt(0, 50, 0.1, 0.2)).sprt
    assert state is not None
    assert (state.elo0, state.elo1, state.alpha, state.beta) == (0, 50, 0.1, 0.2)
    assert (state.lower, state.upper) == pytest.approx((math.log(0.2 / 0.9), math.log(8)))
    assert state.decision == decision
    assert (state.log_likelihood_ratio >= state.upper) is (decision == "H1")


def test_a_match_without_games_has_a_summary() -> None:
    summary = summarise([], names=("a", "b"), planned=10, sprt=Sprt(0, 5))
    assert summary.names == ("a", "b")
    assert (summary.played, summary.elo, summary.game_type, summary.started_at) == (0, None, None, None)
    assert summary.programs[0].think_times.median is None
    assert summarise([]).names == ("player1", "player2")


def test_json_has_no_infinity() -> None:
    value = json.loads(json.dumps(summarise([game(number) for number in range(1, 13)]).to_json(), allow_nan=False))
    assert value["elo"]["value"] is None
    assert value["elo"]["low"] == pytest.approx(elo_of_score((1 + 2.570582**2 / 5) ** -0.5), abs=1e-3)
    assert value["histogram_edges"][-1] is None


def test_no_number_is_minus_zero() -> None:
    even = [game(1, 0), game(2, 1), game(3, 1), game(4, 0)]
    for records in (even, [dataclasses.replace(record, points=(5, 5)) for record in even]):
        summary = dataclasses.replace(summarise(records), point_difference=Estimate(-0.0, -0.0, 0.0))
        assert "-0.0" not in re.findall(r"-?[\d.]+", json.dumps(summary.to_json()))


def on(machine: str, records: list[GameRecord]) -> list[GameRecord]:
    return [dataclasses.replace(record, machine=machine) for record in records]


# the upper percentage points of M. Abramowitz and I. Stegun, table 26.8
@pytest.mark.parametrize(
    ("degrees", "value", "tail"),
    [(1, 3.84146, 0.05), (2, 5.99146, 0.05), (3, 11.3449, 0.01), (4, 13.2767, 0.01), (7, 24.3219, 0.001)],
)
def test_the_tail_of_chi_squared_agrees_with_published_tables(degrees: int, value: float, tail: float) -> None:
    assert chi_squared_tail(value, degrees) == pytest.approx(tail, rel=1e-4)
    assert chi_squared_tail(0, degrees) == 1


def test_two_groups_are_compared() -> None:
    # 2 x 2: chi-squared = 100 (30·30 - 20·20)² / 50⁴ = 4, with one degree of freedom
    assert homogeneity([30, 20], [20, 30]) == pytest.approx(chi_squared_tail(4, 1))
    assert homogeneity([10, 0, 20, 0, 10], [20, 0, 40, 0, 20]) == pytest.approx(1)


def test_sparse_classes_are_merged_and_few_pairs_give_no_answer() -> None:
    assert homogeneity([30, 18, 1, 1, 0], [20, 28, 1, 1, 0]) == homogeneity([30, 20], [20, 30])
    assert homogeneity([5, 0, 0, 0, 0], [0, 0, 0, 0, 5]) is None
    assert homogeneity([0] * 5, [40, 0, 0, 0, 40]) is None
    assert homogeneity([], []) is None


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


def test_the_games_of_each_machine_are_counted() -> None:
    records = on("pc1", [game(1, 0), game(2, None)]) + on("pc2", [fault(3, 0, Verdict.TIMEOUT), game(4, 1)])
    first, second = summarise_machines(records)
    assert (first.name, first.games, first.wins, first.draws, first.losses) == ("pc1", 2, 1, 1, 0)
    assert (first.points, first.think_medians, first.time_losses) == ((75, 65), (0.1, 0.01), 0)
    assert (second.name, second.losses, second.time_losses, second.points) == ("pc2", 2, 1, (60, 80))
    assert first.p_value is second.p_value is None
    assert not first.is_different
    assert summarise_machines([game(1), game(2)]) == ()


def test_reports_show_the_machines_and_warn_of_one_that_decides_differently() -> None:
    usual = on("pc1", whole_match(40)) + on("pc2", [])
    strange = on("pc<2>", [game(number, 1) for number in range(81, 161)])
    summary = summarise(usual + strange)
    assert [each.is_different for each in summary.machines] == [True, True]
    page, text = render_html(summary, usual + strange), render_markdown(summary)
    assert "pc&lt;2&gt; decides differently from the other machines" in page
    assert "pc1 decides differently" in text
    assert "| Machine | Games |" in text
    assert summary.to_json()["machines"][1]["games"] == 80
    alone = summarise(usual)
    assert not alone.machines[0].is_different
    assert "decides differently" not in render_markdown(alone)
    assert "Machine" not in render_markdown(summarise(whole_match(3)))


def test_a_point_equals_the_summary_of_its_games() -> None:
    records, test = whole_match(30), Sprt(0, 50, model="normalized")
    points = progression_of(records, test)
    assert [point.games for point in points] == list(range(2, 61, 2))
    for point in (points[0], points[12], points[-1]):
        summary = summarise(records[: point.games], sprt=test)
        assert summary.elo == point.elo
        assert summary.sprt is not None
        assert summary.sprt.log_likelihood_ratio == point.log_likelihood_ratio


@pytest.mark.parametrize("games", [2, 3, 239, 240, 241, 1000, 1001])
def test_the_last_point_is_after_the_last_game(games: int) -> None:
    points = progression_of([game(number, (0, 1, None)[number % 3]) for number in range(1, games + 1)])
    assert points[-1].games == games
    assert len(points) <= MAX_POINTS + 1
    assert all(point.log_likelihood_ratio is None for point in points)


def test_without_a_pair_there_is_no_progression() -> None:
    assert progression_of([]) == progression_of([game(1)]) == ()
