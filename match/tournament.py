"""More than two programs: who plays whom, and a rating for everybody.

Law: every pairing is a match of its own, with a folder and a journal of its own, and all play the same starts. Ratings
are those that make the results that came most likely, together with one drawn game of everybody against an average
player, without which whoever has won every game would be infinitely strong.

Sources: logistic Elo as in statistics.py; R. A. Bradley and M. E. Terry (1952), Rank analysis of incomplete block
designs, draws counting as half a win; D. R. Hunter (2004), MM algorithms for generalized Bradley-Terry models; the
intervals are percentiles of ratings from resampled pairs: B. Efron (1979), Bootstrap methods. Pairs that all ended
alike have no spread; they are resampled with one won and one lost pair added: P. S. Laplace (1774), the rule of
succession.
"""

from __future__ import annotations

import enum
import itertools
import math
import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from match.errors import SetupError
from match.records import GameRecord
from match.setup import Entrant, MatchSetup, Patience
from match.statistics import CONFIDENCE, Estimate, Tally, count_results
from server.setting import MAX_SECONDS, MAX_WHOLE_NUMBER

MATCHES: Final = "matches"

_RESAMPLES: Final = 200
_ROUNDS: Final = 500  # of the iteration, at most
_PRECISION: Final = 1e-5  # of a strength's logarithm: far below a point of Elo
_UNFIT: Final = re.compile(r"[^\w.+-]+")
_ELO: Final = 400 / math.log(10)


class Kind(enum.Enum):
    """Who meets whom."""

    ROUND_ROBIN = "round-robin"  # everybody everybody
    GAUNTLET = "gauntlet"  # the first one everybody else


@dataclass(frozen=True, slots=True)
class Tournament:
    """Programs, and how many games each pairing has; other settings as of a match."""

    entrants: tuple[Entrant, ...]
    kind: Kind = Kind.ROUND_ROBIN
    games: int = 100
    game_type: str = ""
    seed: int = 0
    concurrency: int = 1
    server_options: Mapping[str, Any] = field(default_factory=dict)
    patience: Patience = field(default_factory=Patience)

    def __post_init__(self) -> None:
        names = [entrant.name for entrant in self.entrants]
        if len(names) < 2:
            raise SetupError(f"expected at least 2 programs, found {len(names)}")
        for name in names:
            if names.count(name) > 1:
                raise SetupError(f"two programs are called {name!r}, expected a name of its own for each")

    def pairings(self) -> list[tuple[int, int]]:
        """Pairs of indices of `entrants`, in the order they are played."""
        everybody = range(len(self.entrants))
        if self.kind is Kind.GAUNTLET:
            return [(0, other) for other in everybody[1:]]
        return list(itertools.combinations(everybody, 2))

    def match_of(self, pairing: tuple[int, int], run_id: str) -> MatchSetup:
        """The match of two programs. Raises SetupError."""
        return MatchSetup(
            entrants=(self.entrants[pairing[0]], self.entrants[pairing[1]]),
            game_type=self.game_type,
            games=self.games,
            seed=self.seed,
            run_id=run_id,
            server_options=self.server_options,
            patience=self.patience,
        )

    def folder_of(self, pairing: tuple[int, int]) -> str:
        """The match's folder, relative to the tournament's."""
        names = "_".join(_UNFIT.sub("_", self.entrants[index].name)[:40] for index in pairing)
        return f"{MATCHES}/{self.pairings().index(pairing) + 1:03d}_{names}"


_SECONDS: Final = {"start_timeout": "start", "exit_timeout": "exit", "game_timeout": "game"}
_MILLISECONDS: Final = ("soft_timeout", "hard_timeout")
_RULES: Final = ("start_piece", "game_end")
_EXPECTED: Final[Mapping[Any, str]] = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    list: "tables [[program]]",
    (int, float): "a number",
}


def read_tournament(file: Path, game_type: str) -> Tournament:
    """The tournament a TOML file describes; `game_type` unless it names one. Raises SetupError.

    Keys: kind, games, game, seed, concurrency, soft_timeout and hard_timeout (milliseconds), start_timeout,
    exit_timeout and game_timeout (seconds), start_piece, game_end; and a table ``[[program]]`` for each program with
    name, command and timeout (false: not held to the limits).
    """
    try:
        value = tomllib.loads(file.read_text(encoding="utf-8"))
        return _tournament(value, game_type)
    except OSError as error:
        raise SetupError(f"{file}: cannot be read ({error.strerror or error})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, SetupError) as error:
        raise SetupError(f"{file}: {error}") from None


def _tournament(value: dict[str, Any], game_type: str) -> Tournament:
    known = ("kind", "games", "game", "seed", "concurrency", "program", *_SECONDS, *_MILLISECONDS, *_RULES)
    for key in value:
        if key not in known:
            raise SetupError(f"{key}: there is no such key, expected {', '.join(known)}")
    kinds = [kind.value for kind in Kind]
    if _take(value, "kind", str, "round-robin") not in kinds:
        raise SetupError(f"kind {value['kind']!r}: expected {' or '.join(kinds)}")
    programs = _take(value, "program", list, [])
    limits: dict[str, Any] = {key: _take_time(value, key, int) / 1000 for key in _MILLISECONDS if key in value}
    rules: dict[str, Any] = {key: _take(value, key, str, "") for key in _RULES if key in value}
    times = {field: float(_take_time(value, key, (int, float))) for key, field in _SECONDS.items() if key in value}
    return Tournament(
        entrants=tuple(_entrant(program) for program in programs),
        kind=Kind(_take(value, "kind", str, "round-robin")),
        games=_take(value, "games", int, 100),
        game_type=_take(value, "game", str, game_type),
        seed=_take(value, "seed", int, 0),
        concurrency=max(1, _take(value, "concurrency", int, 1)),
        server_options={**limits, **rules},
        patience=Patience(**times),
    )


def _entrant(value: Any) -> Entrant:
    if not isinstance(value, dict):
        raise SetupError("program: expected a table [[program]] for each")
    for key in value:
        if key not in ("name", "command", "timeout"):
            raise SetupError(f"program: {key}: there is no such key, expected name, command, timeout")
    for key in ("name", "command"):
        if key not in value:
            raise SetupError(f"program: {key} is missing")
    return Entrant(_take(value, "name", str, ""), _take(value, "command", str, ""), _take(value, "timeout", bool, True))


def _take(value: Mapping[str, Any], key: str, kind: type | tuple[type, ...], default: Any) -> Any:
    taken = value.get(key, default)
    if not isinstance(taken, kind) or (isinstance(taken, bool) and kind is not bool):
        raise SetupError(f"{key} {taken!r}: expected {_EXPECTED[kind]}")
    return taken


def _take_time(value: Mapping[str, Any], key: str, kind: type | tuple[type, ...]) -> Any:
    taken = _take(value, key, kind, None)
    unit, most = ("milliseconds", MAX_WHOLE_NUMBER) if key in _MILLISECONDS else ("seconds", MAX_SECONDS)
    if not (0 < taken <= most or (taken == 0 and key == "exit_timeout")):  # in these words, since nan is neither
        raise SetupError(f"{key} {taken!r}: expected {unit}, more than 0 and up to {most}")
    return taken


# -- ratings --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rank:
    """One program's line of the table; the mean of all ratings is 0."""

    name: str
    rating: Estimate
    results: Tally
    faults: int

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "rating": {"value": self.rating.value, "low": self.rating.low, "high": self.rating.high},
            "games": self.results.games,
            "wins": self.results.wins,
            "draws": self.results.draws,
            "losses": self.results.losses,
            "faults": self.faults,
        }


def rank(names: Sequence[str], matches: Mapping[tuple[int, int], Sequence[GameRecord]]) -> tuple[Rank, ...]:
    """The table, best first. `matches`: the games of each pairing, program 0 of its records being the first one."""
    pairs = {pairing: _scores_of_pairs(records) for pairing, records in matches.items()}
    strengths = _strengths([1.0] * len(names), pairs)
    ratings = _elo(strengths)
    rng = random.Random("resampling")
    samples = [
        _elo(
            _strengths(
                strengths,
                {pairing: _resample(scores, rng) for pairing, scores in pairs.items()},
            )
        )
        for _ in range(_RESAMPLES)
    ]
    table = []
    for index, name in enumerate(names):
        own = sorted(sample[index] for sample in samples)
        tail = int((1 - CONFIDENCE) / 2 * _RESAMPLES)
        rating = ratings[index]
        estimate = Estimate(rating, min(own[tail], rating), max(own[-1 - tail], rating))
        table.append(Rank(name, estimate, _results(index, matches), _faults(index, matches)))
    return tuple(sorted(table, key=lambda line: -line.rating.value))


def _scores_of_pairs(records: Sequence[GameRecord]) -> list[tuple[float, int]]:
    """Program 0's points and the number of games of each pair; halves of pairs count as what they are."""
    found: dict[int, tuple[float, int]] = {}
    for record in records:
        if record.is_counted:
            points, games = found.get(record.pair, (0.0, 0))
            won = 0.5 if record.winner is None else float(record.winner == 0)
            found[record.pair] = points + won, games + 1
    return [found[pair] for pair in sorted(found)]


def _resample(scores: Sequence[tuple[float, int]], rng: random.Random) -> list[tuple[float, int]]:
    """As many pairs, drawn from those there were; if they all ended alike, one won and one lost pair are among them."""
    if not scores:
        return []
    # without them, a single pair would be shown as certainty
    unseen = [(0.0, 2), (2.0, 2)] if len(set(scores)) == 1 else []
    return rng.choices([*scores, *unseen], k=len(scores))


def _strengths(start: Sequence[float], pairs: Mapping[tuple[int, int], Sequence[tuple[float, int]]]) -> list[float]:
    """How strong each program is, sought from `start` on; the odds of a game are the ratio of two strengths."""
    totals = {
        pairing: (sum(points for points, _ in scores), sum(games for _, games in scores))
        for pairing, scores in pairs.items()
    }
    strengths = list(start)
    for _ in range(_ROUNDS):
        # everybody has drawn one game against an average player, whose strength is 1
        points = [0.5] * len(strengths)
        weights = [1 / (strength + 1) for strength in strengths]
        for (first, second), (won, games) in totals.items():
            points[first] += won
            points[second] += games - won
            weight = games / (strengths[first] + strengths[second])
            weights[first] += weight
            weights[second] += weight
        better = [point / weight for point, weight in zip(points, weights, strict=True)]
        change = max(abs(math.log(new / old)) for new, old in zip(better, strengths, strict=True))
        strengths = better
        if change < _PRECISION:
            break
    return strengths


def _elo(strengths: Sequence[float]) -> list[float]:
    """Ratings, 0 in the mean."""
    ratings = [_ELO * math.log(strength) for strength in strengths]
    mean = sum(ratings) / len(ratings)
    return [rating - mean for rating in ratings]


def _results(index: int, matches: Mapping[tuple[int, int], Sequence[GameRecord]]) -> Tally:
    wins = draws = losses = 0
    for (first, second), records in matches.items():
        if index in (first, second):
            tally = count_results(records)
            draws += tally.draws
            wins += tally.wins if index == first else tally.losses
            losses += tally.losses if index == first else tally.wins
    return Tally(wins, draws, losses)


def _faults(index: int, matches: Mapping[tuple[int, int], Sequence[GameRecord]]) -> int:
    return sum(
        record.offender is not None and (first, second)[record.offender] == index
        for (first, second), records in matches.items()
        for record in records
    )
