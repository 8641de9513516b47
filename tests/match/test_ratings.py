"""Ratings of several programs: their values and intervals."""

from __future__ import annotations

import json
import math
from typing import Any

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


def ratings(*names: str, **matches: list[GameRecord]) -> dict[str, float]:
    table = rate_programs(
        names, {(names.index(pair[0]), names.index(pair[1])): games for pair, games in matches.items()}
    )
    return {line.name: line.rating.value for line in table}


def test_many_games_give_the_elo_of_their_score() -> None:
    rated = ratings("a", "b", ab=results(1500, 0, 500))
    assert rated["a"] - rated["b"] == pytest.approx(400 * math.log10(3), abs=1)
    assert rated["a"] + rated["b"] == pytest.approx(0)


def test_draws_count_as_half_a_win() -> None:
    assert ratings("a", "b", ab=results(0, 4, 0)) == pytest.approx({"a": 0, "b": 0})
    assert ratings("a", "b", ab=results(2, 4, 0)) == pytest.approx(ratings("a", "b", ab=results(4, 0, 2)))


def test_ratings_compare_programs_through_a_common_opponent() -> None:
    rated = ratings("a", "b", "c", ab=results(30, 0, 10), bc=results(30, 0, 10))
    assert rated["a"] > rated["b"] > rated["c"]
    assert rated["a"] - rated["b"] == pytest.approx(rated["b"] - rated["c"], rel=0.05)


def test_a_program_that_wins_every_game_has_a_finite_rating() -> None:
    rated = ratings("a", "b", ab=results(10, 0, 0))
    assert 100 < rated["a"] < 1000


def test_without_games_all_are_equal() -> None:
    assert ratings("a", "b") == {"a": 0.0, "b": 0.0}


def test_results_and_faults_are_counted_for_each_program() -> None:
    games = [*results(2, 1, 1), fault(5, 1, Verdict.CRASH), game(6, None, is_counted=False)]
    first, second = rate_programs(["a", "b"], {(0, 1): games})
    assert (first.name, first.results.wins, first.results.draws, first.results.losses, first.faults) == (
        "a",
        3,
        1,
        1,
        0,
    )
    assert (second.name, second.results.wins, second.results.losses, second.faults) == ("b", 1, 3, 1)
    assert first.rating.low <= first.rating.value <= first.rating.high
    assert json.loads(json.dumps(first.to_json()))["games"] == 5


def test_intervals_are_deterministic_and_shrink_with_more_games() -> None:
    few, many = results(6, 0, 4), results(600, 0, 400)
    widths = []
    for games in (few, many):
        lines = [rate_programs(["a", "b"], {(0, 1): games}) for _ in range(2)]
        assert lines[0] == lines[1]
        widths.append(lines[0][0].rating.high - lines[0][0].rating.low)
    assert widths[1] < widths[0] / 3


@pytest.mark.parametrize("games", [results(2, 0, 0), results(0, 0, 2), results(0, 2, 0), results(6, 0, 0)])
def test_a_few_pairs_with_equal_results_do_not_count_as_certainty(games: list[GameRecord]) -> None:
    for line in rate_programs(["a", "b"], {(0, 1): games}):
        assert line.rating.low <= line.rating.value <= line.rating.high
        assert line.rating.high - line.rating.low > 100


def test_ratings_get_more_certain_with_more_pairs_of_equal_results() -> None:
    widths = [
        line.rating.high - line.rating.value
        for games in (results(0, 2, 0), results(0, 20, 0), results(0, 200, 0))
        for line in rate_programs(["a", "b"], {(0, 1): games})[:1]
    ]
    assert widths[0] > 2 * widths[1] > 4 * widths[2] > 0


def test_ratings_in_json_are_finite() -> None:
    value: dict[str, Any] = rate_programs(["a", "b"], {(0, 1): results(2, 0, 0)})[0].to_json()
    assert all(math.isfinite(number) for number in value["rating"].values())


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


@pytest.mark.parametrize("pairs", [1, 1000, 100_000])
def test_the_ratings_explain_the_results(pairs: int) -> None:
    """Each program's score, with the drawn game, equals that expected from its rating, even if it won all games."""
    names = ["a", "b", "c", "d"]
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
    assert surplus(low) == pytest.approx([0.0] * len(names), abs=1e-6)


def test_results_are_listed_for_each_opponent() -> None:
    table = rate_programs(["a", "b", "c"], {(0, 1): results(2, 1, 1), (1, 2): results(3, 0, 1), (0, 2): []})
    met = {line.name: dict(line.opponents) for line in table}
    assert met["a"] == {"b": Tally(2, 1, 1)}
    assert met["b"] == {"a": Tally(1, 1, 2), "c": Tally(3, 0, 1)}
    assert next(line for line in table if line.name == "c").to_json()["opponents"] == {
        "b": {"wins": 1, "draws": 0, "losses": 3}
    }


def test_a_program_without_games_has_a_wide_interval() -> None:
    table = rate_programs(["a", "b", "c"], {(0, 1): results(20, 0, 10)})
    width = {line.name: line.rating.high - line.rating.low for line in table}
    assert width["c"] > 1000 > width["a"]
