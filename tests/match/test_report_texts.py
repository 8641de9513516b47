"""Texts for numbers and results."""

from __future__ import annotations

import math

import pytest

from spielleiter.match.reports.texts import (
    elo_text,
    estimate_text,
    games_text,
    headline,
    likelihood_text,
    percent_text,
    result_text,
    seconds_text,
    share_text,
    sprt_text,
)
from spielleiter.match.statistics import Estimate, Sprt
from spielleiter.match.summary import summarise
from spielleiter.match.verdict import Verdict
from tests.match.sample_records import game


def test_there_is_no_negative_zero() -> None:
    tiny = Estimate(-0.04, -0.0, -1e-9)
    assert elo_text(tiny) == "+0.0 [+0.0, +0.0]"
    assert estimate_text(tiny) == "0.0 [0.0, 0.0]"
    undecided = summarise([game(1, 0), game(2, 1)], sprt=Sprt(-0.0, 50))
    assert "-0 " not in (sprt_text(undecided) or "-0 ")
    assert "-0.00" not in (sprt_text(undecided) or "-0.00")


@pytest.mark.parametrize(
    ("winners", "sprt", "words"),
    [
        ([], None, "greedy against random: no result, since no pair of games is complete"),
        ([0], None, "greedy against random: no result, since no pair of games is complete"),
        ([0, 0], None, "greedy against random: too few pairs to tell (1 complete pair, at least 6 are needed)"),
        ([0] * 10, None, "greedy against random: too few pairs to tell (5 complete pairs, at least 6 are needed)"),
        ([0] * 12, None, "greedy is better than random"),
        ([1] * 12, None, "random is better than greedy"),
        ([0, 1] * 20, None, "Not decided between greedy and random: more games are needed"),
        ([0] * 12, Sprt(0, 5), "greedy is better than random"),
        ([0] * 80, Sprt(0, 50), "greedy against random: +50 Elo rather than +0 (SPRT accepted H1)"),
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
    ("elo", "text"),
    [
        (None, "–"),
        (Estimate(55.58, -27.9, 83.44), "+55.6 [−27.9, +83.4]"),
        (Estimate(math.inf, 306, math.inf), "+∞ [+306.0, +∞]"),
        (Estimate(-math.inf, -math.inf, -3), "−∞ [−∞, −3.0]"),
    ],
)
def test_elo(elo: Estimate | None, text: str) -> None:
    assert elo_text(elo) == text


def test_estimates() -> None:
    assert estimate_text(None) == "–"
    assert estimate_text(Estimate(-1.25, -3, 0.5)) == "−1.2 [−3.0, 0.5]"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (None, "–"), (0.0, "0.00 %"), (0.00005, "< 0.01 %"), (0.0005, "0.05 %"), (0.5, "50.0 %"), (0.977, "97.7 %"),
        (0.9995, "99.95 %"), (0.99999, "> 99.99 %"), (1.0, "100.00 %"),
    ],
)  # fmt: skip
def test_shares(share: float | None, text: str) -> None:
    assert percent_text(share) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(None, "–"), (0.385, "38.5 %"), (1.0, "100.00 %"), (1.04, "1.0 times"), (9.96, "10 times"), (64.28, "64 times")],
)
def test_shares_above_one_are_multiples(share: float | None, text: str) -> None:
    assert share_text(share) == text


@pytest.mark.parametrize(
    ("likelihood", "text"),
    [(None, "–"), (0.0, "< 0.01 %"), (0.3, "30.0 %"), (0.999, "99.90 %"), (1.0, "> 99.99 %")],
)
def test_likelihoods(likelihood: float | None, text: str) -> None:
    assert likelihood_text(likelihood) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"), (0.0, "0 ms"), (0.00012, "0.12 ms"), (0.0123, "12.3 ms"), (0.9994, "999 ms"), (0.9996, "1 s"),
        (1.999, "2 s"), (12.34, "12.3 s"), (999.4, "999 s"), (12345.6, "12346 s"),
    ],
)  # fmt: skip
def test_seconds(seconds: float | None, text: str) -> None:
    assert seconds_text(seconds) == text


def test_the_state_of_the_sequential_test() -> None:
    assert sprt_text(summarise([game(1)])) is None
    assert (
        sprt_text(summarise([game(1)], sprt=Sprt(0, 50)))
        == "LLR +0.00 (-2.94, +2.94), elo0=0 elo1=50 alpha=0.05 beta=0.05 model=logistic: undecided"
    )
    won = summarise([game(number) for number in range(1, 81)], sprt=Sprt(0, 50))
    assert str(sprt_text(won)).endswith(": H1 accepted")


def test_games() -> None:
    records = [game(1), game(2), game(3, None, is_counted=False, verdict="cancelled")]
    assert games_text(summarise(records)) == "3 games played, 2 counted, 1 complete pair; 1 not counted"
    assert games_text(summarise(records[:2], planned=9)) == "2 of 9 games played, 2 counted, 1 complete pair"
    assert games_text(summarise(records[:1])) == "1 game played, 1 counted, 0 complete pairs"
    assert games_text(summarise(records[:1], planned=1)) == "1 of 1 game played, 1 counted, 0 complete pairs"


def test_results() -> None:
    assert [result_text(game(1, winner)) for winner in (0, 1, None)] == ["greedy", "random", "draw"]
    assert result_text(game(1, None, is_counted=False)) == "not counted"
