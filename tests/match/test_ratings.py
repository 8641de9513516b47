"""Ratings of several programs: their values and intervals."""

from __future__ import annotations

import json
import math

import pytest

from spielleiter.match.ratings import estimate_ratings, rate_programs
from spielleiter.match.records import GameRecord
from spielleiter.match.statistics import Tally
from spielleiter.match.verdict import Verdict
from tests.match.sample_records import fault, game


def results(wins: int, draws: int, losses: int) -> list[GameRecord]:
    """The games of program 0, in complete pairs."""
    winners = [0] * wins + [None] * draws + [1] * losses
    return [game(number, winner) for number, winner in enumerate(winners, 1)]


def test_ratings_compare_programs_through_a_common_opponent_and_draws_are_half_a_win() -> None:
    table = rate_programs(["a", "b", "c"], {(0, 1): results(30, 0, 10), (1, 2): results(25, 10, 5)})
    a, b, c = (line.rating.value for line in table)
    assert [line.name for line in table] == ["a", "b", "c"]
    assert a > b > c
    assert a - b == pytest.approx(b - c, rel=0.05)
    assert a + b + c == pytest.approx(0)


def test_results_and_faults_are_counted_for_each_program_and_opponent() -> None:
    games = [*results(2, 1, 1), fault(5, 1, Verdict.CRASH), game(6, None, is_counted=False)]
    table = rate_programs(["a", "b", "c"], {(0, 1): games, (1, 2): results(3, 0, 1), (0, 2): []})
    lines = {line.name: line for line in table}
    assert {name: (line.results, line.faults) for name, line in lines.items()} == {
        "a": (Tally(3, 1, 1), 0),
        "b": (Tally(4, 1, 4), 1),
        "c": (Tally(1, 0, 3), 0),
    }
    assert dict(lines["b"].opponents) == {"a": Tally(1, 1, 3), "c": Tally(3, 0, 1)}
    value = json.loads(json.dumps(lines["c"].to_json()))
    assert value["opponents"] == {"b": {"wins": 1, "draws": 0, "losses": 3}}
    assert (value["games"], value["wins"], value["losses"]) == (4, 1, 3)
    assert all(math.isfinite(number) for number in value["rating"].values())


@pytest.mark.parametrize("shares", [(1, 0, 0), (0, 1, 0), (3, 0, 2)])
def test_few_pairs_do_not_count_as_certainty_and_intervals_shrink_with_more(shares: tuple[int, int, int]) -> None:
    widths = []
    for times in (2, 20, 200):
        line, other = rate_programs(["a", "b"], {(0, 1): results(*(times * share for share in shares))})
        assert line.rating.low <= line.rating.value <= line.rating.high
        assert line.rating.value == pytest.approx(-other.rating.value)
        widths.append(line.rating.high - line.rating.low)
    assert widths[0] > 100
    assert widths[0] > 1.1 * widths[1] > 1.2 * widths[2] > 0


def test_a_program_without_games_has_a_wide_interval() -> None:
    assert [line.rating.value for line in rate_programs(["a", "b"], {})] == [0.0, 0.0]
    table = rate_programs(["a", "b", "c"], {(0, 1): results(20, 0, 10)})
    width = {line.name: line.rating.high - line.rating.low for line in table}
    assert width["c"] > 1000 > width["a"]


# found with another method, quasi-Newton (BFGS) of SciPy with the derivatives below 1e-6
def test_the_ratings_of_a_chain_of_twelve_programs_agree_with_another_solver() -> None:
    """Ratings differ by thousands and depend on one opponent each; an iteration of small steps would end too early."""
    pairs = {(one, one + 1): [(38.5 if one % 2 else 36.0, 40)] for one in range(11)}
    found = [estimate.value for estimate in estimate_ratings(12, pairs)]
    half = [2029.68, 1670.87, 1200.43, 881.41, 473.72, 186.66]
    assert found == pytest.approx([*half, *(-each for each in reversed(half))], abs=0.1)


def test_the_ratings_of_a_round_robin_agree_with_another_solver() -> None:
    won = {(0, 1): 7.5, (0, 2): 18.5, (0, 3): 17.0, (0, 4): 4.0, (1, 2): 11.5, (1, 3): 19.0, (1, 4): 15.0,
           (2, 3): 20.0, (2, 4): 18.5, (3, 4): 2.0}  # fmt: skip
    found = [each.value for each in estimate_ratings(5, {pairing: [(points, 20)] for pairing, points in won.items()})]
    assert found == pytest.approx([73.36, 165.51, 85.60, -344.75, 20.28], abs=0.1)


@pytest.mark.parametrize("pairs", [1, 100_000])
def test_the_ratings_explain_the_results(pairs: int) -> None:
    """Each program's score, with the drawn game, equals that expected from its rating, even if it won all games."""
    won = {(0, 1): 2.0, (1, 2): 2.0, (0, 2): 2.0, (2, 3): 1.5}
    found = estimate_ratings(4, {pairing: [(points, 2)] * pairs for pairing, points in won.items()})
    strengths = [estimate.value * math.log(10) / 400 for estimate in found]

    def surplus(shift: float) -> list[float]:
        each = [0.5 - 1 / (1 + math.exp(-strength - shift)) for strength in strengths]
        for (first, second), points in won.items():
            expected = 2 / (1 + math.exp(strengths[second] - strengths[first]))
            each[first] += pairs * (points - expected)
            each[second] -= pairs * (points - expected)
        return each

    # the mean of the ratings is 0, but the mean of the strengths need not be; the drawn games determine the shift
    low, high = -50.0, 50.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(surplus(middle)) > 0 else (low, middle)
    assert surplus(low) == pytest.approx([0.0] * 4, abs=1e-6)
