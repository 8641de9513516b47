"""Texts for numbers and results, which all reports and the terminal share."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from spielleiter.match.reports.texts import (
    elo_text,
    estimate_text,
    games_text,
    headline,
    likelihood_text,
    percent_text,
    seconds_text,
    share_text,
    sprt_text,
)
from spielleiter.match.statistics import Estimate, Sprt
from spielleiter.match.summary import summarise
from spielleiter.match.verdict import Verdict
from tests.match.sample_records import game


@pytest.mark.parametrize(
    ("winners", "sprt", "words"),
    [
        ([0], None, "greedy against random: no result, since no pair of games is complete"),
        ([0] * 10, None, "greedy against random: too few pairs to tell (5 complete pairs, at least 6 are needed)"),
        ([1] * 12, None, "random is better than greedy"),
        ([0, 1] * 20, None, "Not decided between greedy and random: more games are needed"),
        ([0] * 12, Sprt(0, 5), "greedy is better than random"),
        (
            [0] * 80,
            Sprt(0, 50, model="normalized"),
            "greedy against random: +50 nElo rather than +0 (SPRT accepted H1)",
        ),
        ([0, 1] * 40, Sprt(0, 50), "greedy against random: +0 Elo rather than +50 (SPRT accepted H0)"),
    ],
)
def test_the_answer_in_one_sentence(winners: list[int], sprt: Sprt | None, words: str) -> None:
    records = [game(number, winner) for number, winner in enumerate(winners, 1)]
    assert headline(summarise(records, names=("greedy", "random"), sprt=sprt)) == words


def test_games_that_a_program_may_have_voided_are_in_the_headline() -> None:
    void = {"verdict": Verdict.OVERLOAD, "causes": ("SOFT_TIMEOUT", "REGULAR"), "is_counted": False}
    records = [game(number, 0) for number in range(1, 13)] + [game(number, None, **void) for number in (13, 14, 15)]
    assert headline(summarise(records)) == (
        "greedy is better than random. "
        "But 3 of 15 games do not count because greedy was too slow on an overloaded machine"
    )


@pytest.mark.parametrize(
    ("text_of", "value", "text"),
    [
        (elo_text, None, "–"),
        (elo_text, Estimate(55.58, -27.9, math.inf), "+55.6 [−27.9, +∞]"),
        (elo_text, Estimate(-0.04, -math.inf, -1e-9), "+0.0 [−∞, +0.0]"),
        (estimate_text, Estimate(-1.25, -3, -0.0), "−1.2 [−3.0, 0.0]"),
        (percent_text, 0.0, "0.00 %"),
        (percent_text, 0.00005, "< 0.01 %"),
        (percent_text, 0.977, "97.7 %"),
        (percent_text, 0.9995, "99.95 %"),
        (percent_text, 0.99999, "> 99.99 %"),
        (share_text, 0.385, "38.5 %"),
        (share_text, 1.04, "1.0 times"),
        (share_text, 9.96, "10 times"),
        (likelihood_text, 0.0, "< 0.01 %"),
        (likelihood_text, 1.0, "> 99.99 %"),
        (seconds_text, 0.00012, "0.12 ms"),
        (seconds_text, 0.9996, "1 s"),
        (seconds_text, 12345.6, "12346 s"),
    ],
)
def test_numbers(text_of: Callable[[object], str], value: object, text: str) -> None:
    assert text_of(value) == text


def test_the_state_of_the_sequential_test() -> None:
    assert (
        sprt_text(summarise([game(1)], sprt=Sprt(-0.0, 50)))
        == "LLR +0.00 (-2.94, +2.94), elo0=0 elo1=50 alpha=0.05 beta=0.05 model=logistic: undecided"
    )
    won = summarise([game(number) for number in range(1, 81)], sprt=Sprt(0, 50))
    assert str(sprt_text(won)).endswith(": H1 accepted")


def test_games() -> None:
    records = [game(1), game(2), game(3, None, is_counted=False, verdict="cancelled")]
    assert games_text(summarise(records)) == "3 games played, 2 counted, 1 complete pair; 1 not counted"
    assert games_text(summarise(records[:2], planned=9)) == "2 of 9 games played, 2 counted, 1 complete pair"
