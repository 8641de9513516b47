"""The error rates of tests and the coverage of intervals in simulated matches; docs/match.md names the largest ones.

`python -m tests.match.simulate_error_rates [MATCHES [PART ...]]` prints them, or the named parts: better, elo,
tests, ratings. With 2,000 matches, all of them take about half an hour.
"""

from __future__ import annotations

import functools
import random
import sys
from collections.abc import Iterator, Sequence

from spielleiter.match.ratings import estimate_ratings
from spielleiter.match.statistics import (
    Decision,
    PairCounts,
    Sprt,
    better_program,
    better_program_by_e_value,
    estimate_score,
    score_of_elo,
)

PAIRS = (2, 3, 4, 5, 6, 10, 20, 50, 100)

Probabilities = tuple[float, float, float, float, float]

EQUAL: dict[str, Probabilities] = {
    "no draws": (0.25, 0, 0.5, 0, 0.25),
    "many draws": (0.01, 0.16, 0.66, 0.16, 0.01),
    "the start decides": (0.02, 0, 0.96, 0, 0.02),
    "the start decides, with draws": (0, 0.1, 0.8, 0.1, 0),
    "correlated pairs": (0.45, 0, 0.1, 0, 0.45),
    "no even pairs": (0, 0.5, 0, 0.5, 0),
    "all results alike": (0.2, 0.2, 0.2, 0.2, 0.2),
    "skewed: rarely 0, often 1½": (1 / 3, 0, 0, 2 / 3, 0),
}
"""Probabilities of a pair's results with an even mean. All but the last ones are those of equal programs."""

UNEQUAL: dict[str, Probabilities] = {
    "60 %": (0.1, 0.15, 0.3, 0.15, 0.3),
    "78 %": (0.02, 0.03, 0.25, 0.2, 0.5),
    "93 %": (0, 0, 0.1, 0.1, 0.8),
    "98 %": (0.01, 0, 0.02, 0, 0.97),
    "start decides, 55 %": (0.01, 0, 0.89, 0, 0.1),
}

_decision = functools.lru_cache(maxsize=1 << 20)(Sprt.decide)
_called_better = functools.lru_cache(maxsize=None)(better_program)


def draw_counts(rng: random.Random, probabilities: Probabilities, pairs: int) -> PairCounts:
    """Return the counts of a match of independent pairs."""
    drawn = rng.choices(range(5), probabilities, k=pairs)
    return drawn.count(0), drawn.count(1), drawn.count(2), drawn.count(3), drawn.count(4)


def share_called_better(probabilities: Probabilities, pairs: int, matches: int, seed: int = 1) -> float:
    """Return the share of matches in which a program is called better after the last pair."""
    rng = random.Random(f"better {probabilities} {pairs} {seed}")
    return sum(_called_better(draw_counts(rng, probabilities, pairs)) is not None for _ in range(matches)) / matches


def share_covered(probabilities: Probabilities, pairs: int, matches: int, seed: int = 1) -> float:
    """Return the share of matches whose 95 % interval of the score contains the true value."""
    rng = random.Random(f"covered {probabilities} {pairs} {seed}")
    truth = sum(chance * kind / 4 for kind, chance in enumerate(probabilities))
    covered = 0
    for _ in range(matches):
        estimate = estimate_score(draw_counts(rng, probabilities, pairs))
        assert estimate is not None
        covered += estimate.low - 1e-9 <= truth <= estimate.high + 1e-9
    return covered / matches


def share_stopped(probabilities: Probabilities, pairs: int, matches: int, risk: float = 0.05, seed: int = 1) -> float:
    """Return the share of matches that end with a program called better, if the test is made after every pair."""
    rng = random.Random(f"stopped {probabilities} {pairs} {seed}")
    return sum(
        any(
            better_program_by_e_value(counts, risk) is not None
            for counts in _running_counts(rng, probabilities, pairs)
        )
        for _ in range(matches)
    ) / matches  # fmt: skip


def share_accepted(test: Sprt, wrong: Decision, probabilities: Probabilities, matches: int, seed: int = 1) -> float:
    """Return the share of matches in which the sequential test accepts `wrong`.

    A test that is undecided after 5,000 pairs does not count as wrong.
    """
    rng = random.Random(f"accepted {test} {probabilities} {seed}")
    errors = 0
    for _ in range(matches):
        decisions = (_decision(test, counts) for counts in _running_counts(rng, probabilities, 5000))
        errors += next((decision for decision in decisions if decision is not None), None) is wrong
    return errors / matches


def _running_counts(rng: random.Random, probabilities: Probabilities, pairs: int) -> Iterator[PairCounts]:
    counts = [0, 0, 0, 0, 0]
    for _ in range(pairs):
        counts[rng.choices(range(5), probabilities)[0]] += 1
        yield counts[0], counts[1], counts[2], counts[3], counts[4]


def share_of_ratings_covered(truths: Sequence[float], pairs: int, matches: int, seed: int = 1) -> float:
    """Return the share of ratings in round robins whose 95 % interval contains the true value."""
    rng = random.Random(f"ratings {truths} {pairs} {seed}")
    mean, covered = sum(truths) / len(truths), 0
    for _ in range(matches):
        played = {}
        for first in range(len(truths)):
            for second in range(first + 1, len(truths)):
                chance = score_of_elo(truths[first] - truths[second])
                points = [sum(rng.random() < chance for _ in range(2)) for _ in range(pairs)]
                played[first, second] = [(float(each), 2) for each in points]
        for truth, estimate in zip(truths, estimate_ratings(len(truths), played), strict=True):
            covered += estimate.low <= truth - mean <= estimate.high
    return covered / matches / len(truths)


def _row(name: str, shares: Sequence[float]) -> str:
    return f"| {name} | " + " | ".join(f"{100 * share:.1f}" for share in shares) + " |\n"


def print_better(matches: int) -> None:
    """Print how often equal programs are called unequal after the last game."""
    _print(f"Called better though equal, %\n\n{_HEAD}")
    for name, probabilities in EQUAL.items():
        _print(_row(name, [share_called_better(probabilities, pairs, matches) for pairs in PAIRS]))


def print_elo(matches: int) -> None:
    """Print how often the interval of Elo contains the true value."""
    _print(f"The interval of Elo contains the true value, %\n\n{_HEAD}")
    for name, probabilities in {**EQUAL, **UNEQUAL}.items():
        _print(_row(name, [share_covered(probabilities, pairs, matches // 4) for pairs in PAIRS]))


def print_tests(matches: int) -> None:
    """Print how often tests after every pair call equal programs unequal."""
    _print("--significance 0.05 within 200 pairs, and SPRT at its bounds (alpha = beta = 0.05), %\n\n")
    _print("| | significance | H1 at 0 nElo | H1 at 0 Elo |\n|---|--:|--:|--:|\n")
    tests = [Sprt(0, 60, model="normalized"), Sprt(0, 60)]
    for name, probabilities in EQUAL.items():
        wrong = [share_accepted(test, Decision.H1, probabilities, matches // 10) for test in tests]
        _print(_row(name, [share_stopped(probabilities, 200, matches // 10), *wrong]))


def print_ratings(matches: int) -> None:
    """Print how often the interval of a rating contains the true value."""
    _print(
        "Ratings whose interval contains the true value, %\n\n| programs | 2 | 5 | 10 | 50 pairs |\n"
        "|---|--:|--:|--:|--:|\n"
    )
    for truths in ((0, 0), (0, 100), (0, 0, 0, 0), (-300, -100, 100, 300), (-150, -100, -50, 0, 0, 50, 100, 150)):
        name = ", ".join(f"{truth:+d}" for truth in truths)
        _print(_row(name, [share_of_ratings_covered(truths, pairs, max(50, matches // 4)) for pairs in (2, 5, 10, 50)]))


PARTS = {"better": print_better, "elo": print_elo, "tests": print_tests, "ratings": print_ratings}

_HEAD = f"| pairs | {' | '.join(map(str, PAIRS))} |\n|---{'|--:' * len(PAIRS)}|\n"


def _print(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def main(matches: int, *parts: str) -> None:
    """Print the named tables, or all of them."""
    for name, print_part in PARTS.items():
        if not parts or name in parts:
            print_part(matches)
            _print("\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, *sys.argv[2:])
