"""Games by machine, and the test whether a machine decides differently."""

from __future__ import annotations

import dataclasses
import random

import pytest

from spielleiter.match.records import GameRecord
from spielleiter.match.reports.match_reports import render_html, render_markdown
from spielleiter.match.summary import SIGNIFICANCE, chi_squared_tail, homogeneity, summarise, summarise_machines
from spielleiter.match.verdict import Verdict
from tests.match.sample_records import fault, game, whole_match


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
