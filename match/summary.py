"""The summary of a match: all numbers that the reports show, computed once.

A summary depends only on the records and the tests of the match, so it can be computed again from a journal at any
time, with the same numbers.
"""

from __future__ import annotations

import dataclasses
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

from spielleiter.match.records import GameRecord
from spielleiter.match.statistics import (
    MIN_PAIRS,
    PLAYED_OUT,
    Estimate,
    PairCounts,
    Sprt,
    Tally,
    better_program,
    better_program_by_e_value,
    count_pairs,
    count_results,
    estimate_elo,
    estimate_figures,
    estimate_normalized_elo,
    estimate_point_difference,
    estimate_points,
    likelihood_of_superiority,
    log_e_value,
    quantile,
)
from spielleiter.match.verdict import (
    BAD_MESSAGE_VERDICTS,
    CRASH_VERDICTS,
    ILLEGAL_VERDICTS,
    LEFTOVER_VERDICTS,
    TIMEOUT_VERDICTS,
    VERDICTS,
    Verdict,
)
from spielleiter.protocol.messages import Cause

SIGNIFICANCE: Final = 0.01
"""A match on equal machines warns with this probability at most, whatever their number (Bonferroni's correction)."""
MIN_EXPECTED: Final = 5.0
MAX_POINTS: Final = 120

_SLOW: Final = frozenset({Cause.SOFT_TIMEOUT.value, Cause.HARD_TIMEOUT.value})

FEW_OVERLOADS: Final = 2
"""The headline mentions a program that was too slow on an overloaded machine in more games than this..."""
OVERLOAD_SHARE: Final = 0.02
"""... and in more than this share of the games that were played."""

SCHEMA: Final = "spielleiter-match-summary-1"

HISTOGRAM_EDGES: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, math.inf)
"""Inclusive upper edges of the classes, in seconds; the same for all programs, so that they can be compared."""


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
    machines = []
    for name, own in sorted(by_name.items()):
        tally, pairs = count_results(own), count_pairs(own)
        p_value = homogeneity(pairs, [whole - part for whole, part in zip(total, pairs, strict=True)])
        machines.append(
            MachineSummary(
                name=name,
                games=len(own),
                wins=tally.wins,
                draws=tally.draws,
                losses=tally.losses,
                points=(_mean_points(own, 0), _mean_points(own, 1)),
                think_medians=(_median(own, 0), _median(own, 1)),
                time_losses=sum(record.verdict in TIMEOUT_VERDICTS for record in own),
                p_value=None if p_value is None else min(1.0, len(by_name) * p_value),
            )
        )
    return tuple(machines)


def _mean_points(records: Iterable[GameRecord], program: int) -> float | None:
    points = [value for record in records if (value := record.points[program]) is not None]
    return fmean(points) if points else None


def _median(records: Iterable[GameRecord], program: int) -> float | None:
    times = [time for record in records for time in record.think_times[program]]
    return quantile(times, 0.5) if times else None


def homogeneity(first: Sequence[int], second: Sequence[int]) -> float | None:
    """The p-value of the chi-squared test that two groups have the same distribution over some ordered classes.

    Neighbouring classes are merged until each expected number is at least MIN_EXPECTED, as is usual (W. G. Cochran
    1954, Some methods for strengthening the common chi-squared tests).
    `first` and `second` are the numbers of the two groups in each class. None if there are too few for the test.
    """
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
    rows = sum(one for one, _ in columns), sum(two for _, two in columns)
    if len(columns) < 2:
        return None
    chi_squared = 0.0
    for column in columns:
        for count, row in zip(column, rows, strict=True):
            expected = row * sum(column) / total
            chi_squared += (count - expected) ** 2 / expected
    return chi_squared_tail(chi_squared, len(columns) - 1)


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


@dataclass(frozen=True, slots=True)
class ProgressionPoint:
    """The state of a match after its first `games` games."""

    games: int
    elo: Estimate
    log_likelihood_ratio: float | None
    """None without a test."""


def progression_of(records: Sequence[GameRecord], sprt: Sprt | None = None) -> tuple[ProgressionPoint, ...]:
    """The progression of the match with these records, sorted by game; empty without a complete pair."""
    pairs = len(records) // 2
    step = max(1, -(-pairs // MAX_POINTS))
    ends = sorted({*range(2 * step, len(records) + 1, 2 * step), len(records)})
    points = []
    for end in ends:
        counts = count_pairs(records[:end])
        elo = estimate_elo(counts)
        if elo is not None:
            ratio = None if sprt is None else sprt.log_likelihood_ratio(counts)
            points.append(ProgressionPoint(end, elo, ratio))
    return tuple(points)


@dataclass(frozen=True, slots=True)
class ThinkTimesSummary:
    """How long a program took for its answers, in seconds. Median, p95 and max are None without an answer."""

    answers: int
    total: float
    median: float | None
    p95: float | None
    max: float | None
    histogram: tuple[int, ...]
    """The number of answers in each class of HISTOGRAM_EDGES."""


@dataclass(frozen=True, slots=True)
class ProgramSummary:
    """The results of one program."""

    name: str
    wins: int
    draws: int
    losses: int
    points: Estimate | None
    """The mean of a game; None with fewer than two pairs."""
    figures: Mapping[str, Estimate]
    """The means of the parts of its score as the game names them, in their order, of which `points` is the first."""
    crashes: int
    """Games that it lost by a crash; the table of faults says which verdicts are one."""
    timeouts: int
    illegal_moves: int
    bad_messages: int
    leftovers: int
    """Games after which it, or a process it had started, was still running; their results count."""
    overloads: int
    """Games that do not count because it was too slow on an overloaded machine."""
    attempts: Mapping[str, int]
    """What it tried although it is not allowed, in words (`Attempt`), and how often."""
    think_times: ThinkTimesSummary
    cpu_seconds: float
    """Processor time of all games."""
    processor_share: float | None
    """Processor time divided by thinking time. It is above 1 for programs that think on several cores or during the
    opponent's turn, and far above 1 for programs that answer at once, since their start takes longer."""

    @property
    def faults(self) -> int:
        """The number of games in which it was at fault."""
        return self.crashes + self.timeouts + self.illegal_moves + self.bad_messages + self.leftovers


@dataclass(frozen=True, slots=True)
class StartSummary:
    """The games of program 0 from one start and in one seat."""

    start: str | None
    """The start piece or the opening."""
    seat: int
    """That of program 0; 0 moves first."""
    wins: int
    draws: int
    losses: int
    point_difference: float | None
    """The mean over the games that were played to their end; None if there are none."""


@dataclass(frozen=True, slots=True)
class SprtSummary:
    """The state of the sequential test."""

    test: Sprt
    log_likelihood_ratio: float
    decision: str | None
    """``"H0"``, ``"H1"`` or None: undecided."""


@dataclass(frozen=True, slots=True)
class SignificanceSummary:
    """The state of the test of significance, which may be evaluated after every game."""

    risk: float
    """The highest accepted probability of error."""
    log_e_value: float
    """The logarithm of the e-value against equal strength."""
    upper: float
    """The match is decided once `log_e_value` reaches this value."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The numbers of a match; results, Elo and differences are from the point of view of program 0."""

    names: tuple[str, str]
    game_type: str | None
    """None without a game."""
    started_at: str | None
    """The start of the first game; None without one."""
    planned: int | None
    """The planned number of games; None if unknown."""
    played: int
    """Finished games."""
    results: Tally
    pairs: PairCounts
    """The numbers of complete pairs with 0, ½, 1, 1½ and 2 points."""
    elo: Estimate | None
    """None without a complete pair."""
    normalized_elo: Estimate | None
    """(s − ½)/(√2 σ) · 800/ln 10, with the standard deviation σ of a pair's mean score s.

    None without a complete pair, or if all pairs ended alike.
    """
    likelihood_of_superiority: float | None
    """1 − the one-sided p-value of the test that calls a program better; it describes the result, and is no test."""
    point_difference: Estimate | None
    """The mean difference of points in a game; None with fewer than two pairs."""
    sprt: SprtSummary | None
    """None without this test."""
    significance: SignificanceSummary | None
    """None without this test."""
    better: int | None
    """The program that is better, with 95 % confidence or at the risk of `significance`; None: not decided."""
    programs: tuple[ProgramSummary, ProgramSummary]
    verdicts: tuple[tuple[str, int], ...]
    """The kinds of verdicts that occurred, with their numbers of games, in the order of VERDICTS."""
    starts: tuple[StartSummary, ...]
    """The games by start and seat."""
    incidents: tuple[GameRecord, ...]
    """The games whose verdict is not "regular"."""
    season: str | None = None
    """GameType and edition as `season_text` names them; None if unknown."""
    platform_gaps: tuple[str, ...] = ()
    """What the match could not do on the operating system that it was played on, in sentences."""
    foreign_connections: int = 0
    """Connections to the programs' ports that were refused, since no program was seen to have made them."""
    machines: tuple[MachineSummary, ...] = ()
    """The machines of the cluster that the games were played on; empty if it was only this one."""

    @property
    def has_enough_pairs(self) -> bool:
        """Whether there are enough pairs for the exact test to call a program better."""
        return sum(self.pairs) >= MIN_PAIRS

    @property
    def often_overloaded(self) -> tuple[ProgramSummary, ...]:
        """The programs that were too slow on an overloaded machine in more than a few games."""
        few = max(FEW_OVERLOADS, OVERLOAD_SHARE * self.played)
        return tuple(program for program in self.programs if program.overloads > few)

    @property
    def uncounted(self) -> int:
        """The number of played games that do not count."""
        return self.played - self.results.games

    def to_json(self) -> dict[str, Any]:
        """The content of summary.json (schema in docs/match.md); infinite Elo is null, since JSON has no infinity."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        fields["incidents"] = [
            {"game": each.game, "verdict": each.verdict, "program": each.offender, "reason": each.reason}
            for each in self.incidents
        ]
        if self.sprt is not None:
            test = self.sprt.test
            fields["sprt"] = {
                **dataclasses.asdict(test),
                "log_likelihood_ratio": self.sprt.log_likelihood_ratio,
                "lower": test.lower,
                "upper": test.upper,
                "decision": self.sprt.decision,
            }
        value: dict[str, Any] = {"schema": SCHEMA, **_plain(fields)}
        value["counted"], value["score"] = self.results.games, self.results.score
        value["verdicts"] = dict(self.verdicts)
        value["histogram_edges"] = _plain(HISTOGRAM_EDGES)
        return value


def summarise(
    records: Iterable[GameRecord],
    names: tuple[str, str] | None = None,
    planned: int | None = None,
    sprt: Sprt | None = None,
    significance: float | None = None,
    season: str | None = None,
    platform_gaps: tuple[str, ...] = (),
) -> Summary:
    """Compute the numbers of one match from its `records`, which may come in any order.

    `names` are the programs' names; they are needed only if `records` may be empty. `planned` is the planned number of
    games; None if it is unknown. `sprt` and `significance` are the tests of the match. `season` is the text of
    `season_text`; without it, reports name only the gameType. `platform_gaps` are those of the operating system
    (programs/this_platform.py).
    """
    games = sorted(records, key=lambda record: record.game)
    names = names or (games[0].names if games else ("player1", "player2"))
    pairs = count_pairs(games)
    kinds = Counter(record.verdict for record in games)
    tested = None
    if sprt is not None:
        decision = sprt.decide(pairs)
        tested = SprtSummary(sprt, sprt.log_likelihood_ratio(pairs), decision and decision.value)
    return Summary(
        names=names,
        game_type=games[0].game_type if games else None,
        started_at=min((record.started_at for record in games), default=None),
        planned=planned,
        played=len(games),
        results=count_results(games),
        pairs=pairs,
        elo=estimate_elo(pairs),
        normalized_elo=estimate_normalized_elo(pairs),
        likelihood_of_superiority=likelihood_of_superiority(pairs),
        point_difference=estimate_point_difference(games),
        sprt=tested,
        significance=None
        if significance is None
        else SignificanceSummary(significance, log_e_value(pairs), -math.log(significance)),
        better=better_program(pairs) if significance is None else better_program_by_e_value(pairs, significance),
        programs=(_summarise_program(games, 0, names), _summarise_program(games, 1, names)),
        verdicts=tuple((kind, kinds[kind]) for kind in VERDICTS if kinds[kind]),
        starts=_summarise_starts(games),
        incidents=tuple(record for record in games if record.verdict != Verdict.REGULAR),
        season=season or (games[0].game_type if games else None),
        platform_gaps=platform_gaps,
        foreign_connections=sum(record.foreign_connections for record in games),
        machines=summarise_machines(games),
    )


def _summarise_program(games: Sequence[GameRecord], program: int, names: tuple[str, str]) -> ProgramSummary:
    tally = count_results(games)
    faults = Counter(record.verdict for record in games if record.offender == program)
    answers = [time for record in games for time in record.think_times[program]]
    histogram = [0] * len(HISTOGRAM_EDGES)
    for time in answers:
        histogram[bisect_left(HISTOGRAM_EDGES, time)] += 1
    times = ThinkTimesSummary(
        answers=len(answers),
        total=math.fsum(answers),
        median=quantile(answers, 0.5) if answers else None,
        p95=quantile(answers, 0.95) if answers else None,
        max=max(answers, default=None),
        histogram=tuple(histogram),
    )
    cpu_seconds = math.fsum(record.cpu_seconds[program] for record in games)
    return ProgramSummary(
        name=names[program],
        wins=tally.losses if program else tally.wins,
        draws=tally.draws,
        losses=tally.wins if program else tally.losses,
        points=estimate_points(games, program),
        figures=estimate_figures(games, program),
        crashes=sum(faults[verdict] for verdict in CRASH_VERDICTS),
        timeouts=sum(faults[verdict] for verdict in TIMEOUT_VERDICTS),
        illegal_moves=sum(faults[verdict] for verdict in ILLEGAL_VERDICTS),
        bad_messages=sum(faults[verdict] for verdict in BAD_MESSAGE_VERDICTS),
        leftovers=sum(faults[verdict] for verdict in LEFTOVER_VERDICTS),
        overloads=sum(record.verdict == Verdict.OVERLOAD and record.causes[program] in _SLOW for record in games),
        attempts=count_attempts(games, program),
        think_times=times,
        cpu_seconds=cpu_seconds,
        processor_share=cpu_seconds / times.total if times.total > 0 else None,
    )


def count_attempts(games: Iterable[GameRecord], program: int) -> dict[str, int]:
    """Return what a program tried although it is not allowed, sorted, and how often in all games together."""
    total: Counter[str] = Counter()
    for record in games:
        total.update(record.attempts[program])
    return dict(sorted(total.items()))


def _summarise_starts(games: Sequence[GameRecord]) -> tuple[StartSummary, ...]:
    counted = [record for record in games if record.is_counted]
    kinds = {(record.start, record.seats.index(0)) for record in counted}
    summaries = []
    for start, seat in sorted(kinds, key=lambda kind: (kind[0] or "", kind[1])):
        own = [record for record in counted if record.start == start and record.seats.index(0) == seat]
        tally = count_results(own)
        differences = [
            record.points[0] - record.points[1]
            for record in own
            if record.verdict in PLAYED_OUT and record.points[0] is not None and record.points[1] is not None
        ]
        mean = fmean(differences) if differences else None
        summaries.append(StartSummary(start, seat, tally.wins, tally.draws, tally.losses, mean))
    return tuple(summaries)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value + 0.0 if math.isfinite(value) else None  # turns -0.0 into 0.0
    return value
