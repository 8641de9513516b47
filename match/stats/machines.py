"""The games of a match by the machine that they were played on, and whether a machine decides differently.

The test compares the pairs of one machine with those of all others: a chi-squared test of homogeneity over the five
results of a pair. Neighbouring results are merged until each expected number is at least MIN_EXPECTED, as is usual
(W. G. Cochran 1954, Some methods for strengthening the common chi-squared tests). Bonferroni's correction makes
SIGNIFICANCE hold for all machines together.

Invariants: the numbers depend on the records only. Without two machines, or with too few pairs, there is no p-value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from spielleiter.match.records.game_record import TIMEOUT_VERDICTS, GameRecord
from spielleiter.match.stats.counts import count_pairs, count_results, quantile

SIGNIFICANCE: Final = 0.01
"""A match on equal machines warns with this probability at most."""
MIN_EXPECTED: Final = 5.0


@dataclass(frozen=True, slots=True)
class MachineSummary:
    """The games on one machine; wins, draws and losses are those of program 0."""

    name: str
    games: int
    wins: int
    draws: int
    losses: int
    points: tuple[float | None, float | None]
    """By program: the mean of its points; None without points."""
    think_medians: tuple[float | None, float | None]
    """By program: the median think time in seconds; None without an answer."""
    time_losses: int
    """Games that a program lost by a time limit."""
    p_value: float | None
    """How probable it is that pairs differ at least as much from those of the other machines by chance; None: unknown.
    It is corrected for the number of machines."""

    @property
    def is_different(self) -> bool:
        """Whether the machine decides differently from the others, beyond chance."""
        return self.p_value is not None and self.p_value < SIGNIFICANCE


def summarise_machines(records: Iterable[GameRecord]) -> tuple[MachineSummary, ...]:
    """The machines of a match, sorted by name; empty if no game was played on a cluster."""
    games = list(records)
    by_name: dict[str, list[GameRecord]] = {}
    for record in games:
        by_name.setdefault(record.machine, []).append(record)
    if by_name.keys() <= {""}:
        return ()
    total = count_pairs(games)
    return tuple(_summarise(name, own, total, len(by_name)) for name, own in sorted(by_name.items()))


def _summarise(name: str, own: Sequence[GameRecord], total: Sequence[int], machines: int) -> MachineSummary:
    tally, pairs = count_results(own), count_pairs(own)
    p_value = homogeneity(pairs, [whole - part for whole, part in zip(total, pairs, strict=True)])
    return MachineSummary(
        name=name,
        games=len(own),
        wins=tally.wins,
        draws=tally.draws,
        losses=tally.losses,
        points=(_mean_points(own, 0), _mean_points(own, 1)),
        think_medians=(_median(own, 0), _median(own, 1)),
        time_losses=sum(record.verdict in TIMEOUT_VERDICTS for record in own),
        p_value=None if p_value is None else min(1.0, machines * p_value),
    )


def _mean_points(records: Iterable[GameRecord], program: int) -> float | None:
    points = [value for record in records if (value := record.points[program]) is not None]
    return fmean(points) if points else None


def _median(records: Iterable[GameRecord], program: int) -> float | None:
    times = [time for record in records for time in record.think_times[program]]
    return quantile(times, 0.5) if times else None


def homogeneity(first: Sequence[int], second: Sequence[int]) -> float | None:
    """The p-value of the chi-squared test that two groups have the same distribution over some ordered classes.

    `first` and `second` are the numbers of the two groups in each class. None if there are too few for the test.
    """
    columns = _merged(first, second)
    rows = sum(one for one, _ in columns), sum(two for _, two in columns)
    total = sum(rows)
    if len(columns) < 2:
        return None
    chi_squared = 0.0
    for column in columns:
        for count, row in zip(column, rows, strict=True):
            expected = row * sum(column) / total
            chi_squared += (count - expected) ** 2 / expected
    return chi_squared_tail(chi_squared, len(columns) - 1)


def _merged(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, int]]:
    """The classes, with neighbours merged until both groups are expected to have MIN_EXPECTED in each."""
    smaller, total = min(sum(first), sum(second)), sum(first) + sum(second)
    columns: list[tuple[int, int]] = []
    open_column = 0, 0
    for one, two in zip(first, second, strict=True):
        open_column = open_column[0] + one, open_column[1] + two
        if total and smaller * sum(open_column) / total >= MIN_EXPECTED:
            columns.append(open_column)
            open_column = 0, 0
    if columns:  # what remains is too small for a class of its own
        last = columns.pop()
        columns.append((last[0] + open_column[0], last[1] + open_column[1]))
    return columns


def chi_squared_tail(value: float, degrees: int) -> float:
    """The probability that a chi-squared variable with so many degrees of freedom exceeds `value`.

    Source: M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, 26.4.4 and 26.4.5.
    """
    half = value / 2
    if degrees % 2:
        tail, term = math.erfc(math.sqrt(half)), math.exp(-half) * math.sqrt(half) / math.gamma(1.5)
        start = 1.5
    else:
        tail, term = math.exp(-half), math.exp(-half) * half
        start = 2.0
    for step in range((degrees - 1) // 2):
        tail += term
        term *= half / (start + step)
    return min(1.0, tail)
