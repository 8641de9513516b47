"""What a match came to: everything that the reports show, worked out once.

Invariants: a summary is made from the records and the match's tests alone, so that it can be made again from a journal
at any time, with the same numbers. `to_json` gives what `summary.json` holds (docs/match.md has its schema); infinite
Elo is null there, since JSON has no infinity.
"""

from __future__ import annotations

import dataclasses
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

from spielleiter.match.records.game_record import (
    BAD_MESSAGE_VERDICTS,
    CRASH_VERDICTS,
    ILLEGAL_VERDICTS,
    LEFTOVER_VERDICTS,
    TIMEOUT_VERDICTS,
    VERDICTS,
    GameRecord,
    Verdict,
)
from spielleiter.match.stats.counts import (
    PLAYED_OUT,
    Estimate,
    Tally,
    count_pairs,
    count_results,
    estimate_point_difference,
    estimate_points,
    quantile,
)
from spielleiter.match.stats.intervals import better_program, estimate_elo, estimate_normalized_elo
from spielleiter.match.stats.significance import (
    MIN_PAIRS,
    PairCounts,
    better_program_by_evidence,
    likelihood_of_superiority,
    log_evidence,
)
from spielleiter.match.stats.sprt import Sprt
from spielleiter.protocol.messages import Cause

_SLOW: Final = frozenset({Cause.SOFT_TIMEOUT.value, Cause.HARD_TIMEOUT.value})

FEW_OVERLOADS: Final = 2
"""So many games may a program be too slow in on an overloaded machine before the headline speaks of it."""
OVERLOAD_SHARE: Final = 0.02
"""... or this share of the games that were played."""

SCHEMA: Final = "spielleiter-match-summary-1"

HISTOGRAM_EDGES: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, math.inf)
"""Upper edges in seconds, each belonging to its class; the same for every program, so that they can be compared."""


@dataclass(frozen=True, slots=True)
class ThinkTimes:
    """How long a program took for its answers, in seconds. Quantiles are None without an answer."""

    answers: int
    total: float
    median: float | None
    p95: float | None
    max: float | None
    histogram: tuple[int, ...]
    """Answers in each class of HISTOGRAM_EDGES."""


@dataclass(frozen=True, slots=True)
class ProgramSummary:
    """One program's side of the match."""

    name: str
    wins: int
    draws: int
    losses: int
    points: Estimate | None
    crashes: int
    timeouts: int
    illegal_moves: int
    bad_messages: int
    leftovers: int
    """Games after which it, or something it had started, was still running; they count as they were played."""
    overloads: int
    """Games in which it was too slow, and which do not count because this machine was overloaded."""
    think_times: ThinkTimes
    cpu_seconds: float
    processor_share: float | None
    """Processor time over thinking time; above 1 for whoever thinks on several cores or while waiting, and far above it
    for programs that answer at once, since starting them takes longer than they think."""

    @property
    def faults(self) -> int:
        return self.crashes + self.timeouts + self.illegal_moves + self.bad_messages + self.leftovers


@dataclass(frozen=True, slots=True)
class StartSummary:
    """Program 0's games from one start on one seat."""

    start: str | None
    seat: int
    wins: int
    draws: int
    losses: int
    point_difference: float | None
    """Mean over the games played to their end; None without any."""


@dataclass(frozen=True, slots=True)
class Incident:
    """A game that did not go as it should have."""

    game: int
    verdict: str
    program: int | None
    """Whose fault it was; None: nobody's."""
    reason: str


@dataclass(frozen=True, slots=True)
class SprtSummary:
    """Where the sequential test stands."""

    elo0: float
    elo1: float
    alpha: float
    beta: float
    model: str
    """``"logistic"`` or ``"normalized"``: the Elo that `elo0` and `elo1` are."""
    log_likelihood_ratio: float
    lower: float
    upper: float
    decision: str | None
    """``"H0"``, ``"H1"`` or None: undecided."""


@dataclass(frozen=True, slots=True)
class SignificanceSummary:
    """Where the test stands that may be asked after every game."""

    risk: float
    log_evidence: float
    upper: float
    """At or above this logarithm of the evidence the match is decided."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A match; results, Elo and differences are program 0's."""

    names: tuple[str, str]
    game_type: str | None
    started_at: str | None
    planned: int | None
    """How many games there were to be; None if nobody said."""
    played: int
    results: Tally
    pairs: PairCounts
    elo: Estimate | None
    normalized_elo: Estimate | None
    likelihood_of_superiority: float | None
    point_difference: Estimate | None
    sprt: SprtSummary | None
    significance: SignificanceSummary | None
    better: int | None
    """The program that is better: with 95 % confidence, or with the risk of `significance`; None: not decided."""
    programs: tuple[ProgramSummary, ProgramSummary]
    verdicts: tuple[tuple[str, int], ...]
    """Every kind that occurred, with the number of games, in the order of VERDICTS."""
    starts: tuple[StartSummary, ...]
    incidents: tuple[Incident, ...]
    season: str | None = None
    """Game and edition, as every output names them; None if nobody said."""

    @property
    def has_enough_pairs(self) -> bool:
        """False: too few pairs to call anybody better, however they ended."""
        return sum(self.pairs) >= MIN_PAIRS

    @property
    def often_overloaded(self) -> tuple[ProgramSummary, ...]:
        """The programs that were too slow on an overloaded machine in more than a few games."""
        few = max(FEW_OVERLOADS, OVERLOAD_SHARE * self.played)
        return tuple(program for program in self.programs if program.overloads > few)

    @property
    def uncounted(self) -> int:
        """Games that are nobody's result."""
        return self.played - self.results.games

    def to_json(self) -> dict[str, Any]:
        """What summary.json holds."""
        value: dict[str, Any] = {"schema": SCHEMA, **_plain(dataclasses.asdict(self))}
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
) -> Summary:
    """Compute the numbers of one match from its `records`, which may come in any order.

    `names` are the programs' names; they are needed only if there may be no record. `planned` is the number of games
    that the match was to have, None if it is unknown. `sprt` and `significance` are the tests of the match. `season` is
    the text of `season_text`; without it, reports name the gameType alone.
    """
    games = sorted(records, key=lambda record: record.game)
    names = names or (games[0].names if games else ("player1", "player2"))
    pairs = count_pairs(games)
    kinds = Counter(record.verdict for record in games)
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
        sprt=None if sprt is None else _state_of(sprt, pairs),
        significance=None
        if significance is None
        else SignificanceSummary(significance, log_evidence(pairs), -math.log(significance)),
        better=better_program(pairs) if significance is None else better_program_by_evidence(pairs, significance),
        programs=(_of_program(games, 0, names), _of_program(games, 1, names)),
        verdicts=tuple((kind, kinds[kind]) for kind in VERDICTS if kinds[kind]),
        starts=_of_starts(games),
        incidents=tuple(
            Incident(record.game, record.verdict, record.offender, record.reason)
            for record in games
            if record.verdict != Verdict.REGULAR
        ),
        season=season or (games[0].game_type if games else None),
    )


def _state_of(sprt: Sprt, pairs: PairCounts) -> SprtSummary:
    decision = sprt.decide(pairs)
    return SprtSummary(
        elo0=sprt.elo0,
        elo1=sprt.elo1,
        alpha=sprt.alpha,
        beta=sprt.beta,
        model=sprt.model,
        log_likelihood_ratio=sprt.log_likelihood_ratio(pairs),
        lower=sprt.lower,
        upper=sprt.upper,
        decision=decision and decision.value,
    )


def _of_program(games: Sequence[GameRecord], program: int, names: tuple[str, str]) -> ProgramSummary:
    tally = count_results(games)
    faults = Counter(record.verdict for record in games if record.offender == program)
    times = _of_times([time for record in games for time in record.think_times[program]])
    cpu_seconds = math.fsum(record.cpu_seconds[program] for record in games)
    return ProgramSummary(
        name=names[program],
        wins=tally.losses if program else tally.wins,
        draws=tally.draws,
        losses=tally.wins if program else tally.losses,
        points=estimate_points(games, program),
        crashes=sum(faults[verdict] for verdict in CRASH_VERDICTS),
        timeouts=sum(faults[verdict] for verdict in TIMEOUT_VERDICTS),
        illegal_moves=sum(faults[verdict] for verdict in ILLEGAL_VERDICTS),
        bad_messages=sum(faults[verdict] for verdict in BAD_MESSAGE_VERDICTS),
        leftovers=sum(faults[verdict] for verdict in LEFTOVER_VERDICTS),
        overloads=sum(record.verdict == Verdict.OVERLOAD and record.causes[program] in _SLOW for record in games),
        think_times=times,
        cpu_seconds=cpu_seconds,
        processor_share=_share(cpu_seconds, times.total),
    )


def _of_times(times: Sequence[float]) -> ThinkTimes:
    histogram = [0] * len(HISTOGRAM_EDGES)
    for time in times:
        histogram[bisect_left(HISTOGRAM_EDGES, time)] += 1
    return ThinkTimes(
        answers=len(times),
        total=math.fsum(times),
        median=quantile(times, 0.5) if times else None,
        p95=quantile(times, 0.95) if times else None,
        max=max(times, default=None),
        histogram=tuple(histogram),
    )


def _of_starts(games: Sequence[GameRecord]) -> tuple[StartSummary, ...]:
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


def _share(cpu_seconds: float, think_seconds: float) -> float | None:
    return cpu_seconds / think_seconds if think_seconds > 0 else None


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value + 0.0 if math.isfinite(value) else None  # -0.0 + 0.0 is 0.0
    return value
