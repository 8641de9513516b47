"""Error rates of the tests and coverage of the intervals in simulated matches; docs/match.md has the tables.

`python -m tests.match.simulate_error_rates [MATCHES [PART ...]]` prints them, or the parts that are named: better, elo,
tests, ratings. With 2,000 matches all of them take about half an hour.
"""

from __future__ import annotations

import functools
import random
import sys
from collections.abc import Iterator, Sequence

from spielleiter.match.stats.counts import score_of_elo
from spielleiter.match.stats.intervals import better_program, estimate_score
from spielleiter.match.stats.ratings import estimate_ratings
from spielleiter.match.stats.significance import PairCounts, better_program_by_evidence
from spielleiter.match.stats.sprt import Decision, Sprt

PAIRS = (2, 3, 4, 5, 6, 10, 20, 50, 100)

Chances = tuple[float, float, float, float, float]

EQUAL: dict[str, Chances] = {
    "no draws": (0.25, 0, 0.5, 0, 0.25),
    "many draws": (0.01, 0.16, 0.66, 0.16, 0.01),
    "the start decides": (0.02, 0, 0.96, 0, 0.02),
    "the start decides, with draws": (0, 0.1, 0.8, 0.1, 0),
    "correlated pairs": (0.45, 0, 0.1, 0, 0.45),
    "no even pairs": (0, 0.5, 0, 0.5, 0),
    "all results alike": (0.2, 0.2, 0.2, 0.2, 0.2),
    "skewed: rarely 0, often 1½": (1 / 3, 0, 0, 2 / 3, 0),
}
"""Chances of a pair's results whose mean is even. But for the last ones, they are those of equal programs."""

UNEQUAL: dict[str, Chances] = {
    "60 %": (0.1, 0.15, 0.3, 0.15, 0.3),
    "78 %": (0.02, 0.03, 0.25, 0.2, 0.5),
    "93 %": (0, 0, 0.1, 0.1, 0.8),
    "98 %": (0.01, 0, 0.02, 0, 0.97),
    "start decides, 55 %": (0.01, 0, 0.89, 0, 0.1),
}

_decision = functools.lru_cache(maxsize=1 << 20)(Sprt.decide)
_called_better = functools.lru_cache(maxsize=None)(better_program)


def draw_counts(rng: random.Random, chances: Chances, pairs: int) -> PairCounts:
    """The counts of a match of independent pairs."""
    drawn = rng.choices(range(5), chances, k=pairs)
    return drawn.count(0), drawn.count(1), drawn.count(2), drawn.count(3), drawn.count(4)


def share_called_better(chances: Chances, pairs: int, matches: int, seed: int = 1) -> float:
    """The share of matches in which a program is called better after the last pair."""
    rng = random.Random(f"better {chances} {pairs} {seed}")
    return sum(_called_better(draw_counts(rng, chances, pairs)) is not None for _ in range(matches)) / matches


def share_covered(chances: Chances, pairs: int, matches: int, seed: int = 1) -> float:
    """The share of matches whose 95 % interval of the score holds the truth."""
    rng = random.Random(f"covered {chances} {pairs} {seed}")
    truth = sum(chance * kind / 4 for kind, chance in enumerate(chances))
    covered = 0
    for _ in range(matches):
        estimate = estimate_score(draw_counts(rng, chances, pairs))
        assert estimate is not None
        covered += estimate.low - 1e-9 <= truth <= estimate.high + 1e-9
    return covered / matches


def share_stopped(chances: Chances, pairs: int, matches: int, risk: float = 0.05, seed: int = 1) -> float:
    """The share of matches that the test after every pair ends with a program called better."""
    rng = random.Random(f"stopped {chances} {pairs} {seed}")
    return sum(
        any(better_program_by_evidence(counts, risk) is not None for counts in _course(rng, chances, pairs))
        for _ in range(matches)
    ) / matches  # fmt: skip


def share_accepted(test: Sprt, wrong: Decision, chances: Chances, matches: int, seed: int = 1) -> float:
    """The share of matches in which the sequential test accepts `wrong`; undecided after 5,000 pairs is not wrong."""
    rng = random.Random(f"accepted {test} {chances} {seed}")
    errors = 0
    for _ in range(matches):
        decisions = (_decision(test, counts) for counts in _course(rng, chances, 5000))
        errors += next((decision for decision in decisions if decision is not None), None) is wrong
    return errors / matches


def _course(rng: random.Random, chances: Chances, pairs: int) -> Iterator[PairCounts]:
    counts = [0, 0, 0, 0, 0]
    for kind in _drawn(rng, chances, pairs):
        counts[kind] += 1
        yield counts[0], counts[1], counts[2], counts[3], counts[4]


def _drawn(rng: random.Random, chances: Chances, pairs: int) -> Iterator[int]:
    return (rng.choices(range(5), chances)[0] for _ in range(pairs))


def share_of_ratings_covered(truths: Sequence[float], pairs: int, matches: int, seed: int = 1) -> float:
    """The share of ratings of round robins whose 95 % interval holds the truth."""
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


def tell_better(matches: int) -> None:
    """How often equal programs are called unequal after the last game."""
    _tell(f"Called better though equal, %\n\n{_HEAD}")
    for name, chances in EQUAL.items():
        _tell(_row(name, [share_called_better(chances, pairs, matches) for pairs in PAIRS]))


def tell_elo(matches: int) -> None:
    """How often the interval of Elo holds the truth."""
    _tell(f"The interval of Elo holds the truth, %\n\n{_HEAD}")
    for name, chances in {**EQUAL, **UNEQUAL}.items():
        _tell(_row(name, [share_covered(chances, pairs, matches // 4) for pairs in PAIRS]))


def tell_tests(matches: int) -> None:
    """How often tests that are asked after every pair call equal programs unequal."""
    _tell("--significance 0.05 within 200 pairs, and SPRT at its bounds (alpha = beta = 0.05), %\n\n")
    _tell("| | significance | H1 at 0 nElo | H1 at 0 Elo |\n|---|--:|--:|--:|\n")
    tests = [Sprt(0, 60, model="normalized"), Sprt(0, 60)]
    for name, chances in EQUAL.items():
        wrong = [share_accepted(test, Decision.H1, chances, matches // 10) for test in tests]
        _tell(_row(name, [share_stopped(chances, 200, matches // 10), *wrong]))


def tell_ratings(matches: int) -> None:
    """How often the interval of a rating holds the truth."""
    _tell("Ratings whose interval holds the truth, %\n\n| programs | 2 | 5 | 10 | 50 pairs |\n|---|--:|--:|--:|--:|\n")
    for truths in ((0, 0), (0, 100), (0, 0, 0, 0), (-300, -100, 100, 300), (-150, -100, -50, 0, 0, 50, 100, 150)):
        name = ", ".join(f"{truth:+d}" for truth in truths)
        _tell(_row(name, [share_of_ratings_covered(truths, pairs, max(50, matches // 4)) for pairs in (2, 5, 10, 50)]))


PARTS = {"better": tell_better, "elo": tell_elo, "tests": tell_tests, "ratings": tell_ratings}

_HEAD = f"| pairs | {' | '.join(map(str, PAIRS))} |\n|---{'|--:' * len(PAIRS)}|\n"


def _tell(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def main(matches: int, *parts: str) -> None:
    """Print the tables that are named, or all."""
    for name, tell in PARTS.items():
        if not parts or name in parts:
            tell(matches)
            _tell("\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, *sys.argv[2:])
