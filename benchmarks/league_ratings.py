"""Evenings of a league whose teams have planted strengths: how soon and how well it finds them.

Run it as `python -m benchmarks.league_ratings`. Nothing is played: a result is drawn from the strengths, on a virtual
clock, while `league.pairing` chooses who plays and `league.ratings` computes the table, as in earnest. Other ways to
choose are simulated beside it. The defaults are a class of 40 that uploads within ten minutes, and a machine that plays
two games at a time, one a second in all.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import math
import random
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from spielleiter.league.pairing import Candidate, next_pairing
from spielleiter.league.ratings import Pairing, estimate_ratings, expected_score
from spielleiter.league.standings import PROVISIONAL_WIDTH
from spielleiter.match.statistics import Estimate

ANCHORS: Final = {101: 1000.0, 102: 1200.0, 103: 1400.0}
CENTRE, SPREAD = 1200.0, 200.0
"""Mean and standard deviation of the planted strengths, in Elo."""
DRAWS: Final = 0.1
"""The share of draws between equals."""
ALIKE: Final = 0.2
"""How often the second game of a pair ends as the first one did, since it begins from the same position."""
UPLOADS: Final = 600.0
"""Seconds within which all teams upload."""
CHECK: Final = 20.0
TABLE: Final = 2.0
"""Seconds between two computations of the table, as in the league."""
AT_ONCE: Final = 2
CLEAR: Final = 50.0
"""Teams further apart than this, in Elo, should stand in the right order."""

Meetings: TypeAlias = Mapping[tuple[int, int], int]
Choose: TypeAlias = Callable[[Sequence[Candidate], Meetings, random.Random], tuple[int, int] | None]


class Evening(NamedTuple):
    """What is known in the end."""

    strengths: dict[int, float]
    """By team."""
    ratings: dict[int, Estimate]
    games: Counter[int]
    """By team or anchor."""
    meetings: Counter[tuple[int, int]]
    """Pairs of games, by the two that met."""
    first_game: dict[int, float]
    """Seconds from the upload of a team until its first game is in the table."""
    settled: dict[int, float]
    """Seconds from the upload until its rating is no longer provisional."""


def play_evening(
    choose: Choose,
    strengths: Mapping[int, float],
    chance: random.Random,
    *,
    anchors: Mapping[int, float] = ANCHORS,
    seconds: float = 5400.0,
    game_seconds: float = 2.0,
    table_seconds: float = TABLE,
) -> Evening:
    """Let the teams with these `strengths` play, the pairings chosen by `choose`.

    `game_seconds` is how long a game takes on average, `table_seconds` the time between two tables.
    """
    true = {**strengths, **ANCHORS}
    uploads = {team: UPLOADS * index / len(strengths) for index, team in enumerate(strengths)}
    results: dict[tuple[int, int], list[int]] = {}
    meetings: Counter[tuple[int, int]] = Counter()
    games: Counter[int] = Counter()
    playing: list[tuple[float, int, int, int]] = []
    first_game: dict[int, float] = {}
    settled: dict[int, float] = {}
    ratings: dict[int, Estimate] = {}
    numbers = itertools.count()
    now, next_table = 0.0, 0.0
    while now < seconds:
        if now >= next_table:
            present = [team for team, at in uploads.items() if at + CHECK <= now]
            start = {version: estimate.value for version, estimate in ratings.items()}
            ratings = estimate_ratings(_pairings(results), present, anchors, start)
            next_table = now + table_seconds
            for team in present:
                if games[team]:
                    first_game.setdefault(team, now - uploads[team])
                if ratings[team].high - ratings[team].low <= PROVISIONAL_WIDTH:
                    settled.setdefault(team, now - uploads[team])
        while len(playing) < AT_ONCE:
            busy = Counter(version for _, _, *both in playing for version in both)
            candidates = [
                Candidate(
                    version,
                    None if version in anchors else version,
                    estimate.value,
                    (estimate.high - estimate.low) / 4,
                    busy[version],
                )
                for version, estimate in ratings.items()
            ]
            found = choose(candidates, meetings, chance)
            if found is None:
                break
            meetings[min(found), max(found)] += 1
            heapq.heappush(playing, (now + 2 * game_seconds * chance.uniform(0.7, 1.3), next(numbers), *found))
        if playing:
            now, _, first, second = heapq.heappop(playing)
            games.update({first: 2, second: 2})
            counts = results.setdefault((min(first, second), max(first, second)), [0] * 5)
            counts[draw_pair(true[min(first, second)] - true[max(first, second)], chance)] += 1
        else:
            now = next_table
    return Evening(dict(strengths), ratings, games, meetings, first_game, settled)


def draw_pair(difference: float, chance: random.Random) -> int:
    """Return the points, in halves, of a program that is `difference` Elo stronger, in a pair of games."""
    first = draw_game(difference, chance)
    return first + (first if chance.random() < ALIKE else draw_game(difference, chance))


def draw_game(difference: float, chance: random.Random) -> int:
    """Return the points, in halves, of a program that is `difference` Elo stronger, in a game."""
    expected = expected_score(difference)
    drawn = 4 * DRAWS * expected * (1 - expected)  # the expected score stays that of the strengths
    place = chance.random()
    return 2 if place < expected - drawn / 2 else 1 if place < expected + drawn / 2 else 0


def _pairings(results: Mapping[tuple[int, int], Sequence[int]]) -> list[Pairing]:
    return [Pairing(*key, (c[0], c[1], c[2], c[3], c[4])) for key, c in results.items()]


# -- other ways to choose ---------------------------------------------------------------------------------------------


def at_random(candidates: Sequence[Candidate], _meetings: Meetings, chance: random.Random) -> tuple[int, int] | None:
    """Choose any two that may meet."""
    pairs = [
        (one.version, other.version) for one, other in itertools.combinations(candidates, 2) if one.team != other.team
    ]
    return chance.choice(pairs) if pairs else None


class Swiss:
    """Chooses in rounds: everybody meets a neighbour in the table whom it has met least often."""

    def __init__(self) -> None:
        self._left: list[tuple[int, int]] = []

    def __call__(
        self, candidates: Sequence[Candidate], meetings: Meetings, chance: random.Random
    ) -> tuple[int, int] | None:
        """Return the next pairing of the round, of a new one if it has ended."""
        if not self._left:
            rest = sorted(candidates, key=lambda each: each.rating)
            while rest:
                one = rest.pop(chance.choice((0, -1)))
                others = [each for each in rest if each.team != one.team]
                if not others:
                    continue

                def cost(other: Candidate, one: Candidate = one) -> float:
                    key = min(one.version, other.version), max(one.version, other.version)
                    return abs(one.rating - other.rating) + 100 * meetings.get(key, 0)

                other = min(others, key=cost)
                rest.remove(other)
                self._left.append((one.version, other.version))
            chance.shuffle(self._left)
        return self._left.pop() if self._left else None


POLICIES: Final[dict[str, Callable[[], Choose]]] = {
    "league": lambda: next_pairing,
    "random": lambda: at_random,
    "swiss": Swiss,
}


# -- the table --------------------------------------------------------------------------------------------------------


def planted(count: int, chance: random.Random) -> dict[int, float]:
    """Return strengths for the teams from 1 on, in random order, that are spread as in a class."""
    normal = statistics.NormalDist(CENTRE, SPREAD)
    strengths = [normal.inv_cdf((index + 0.5) / count) for index in range(count)]
    chance.shuffle(strengths)
    return dict(enumerate(strengths, 1))


class Figures(NamedTuple):
    """One line of the table."""

    wrong: float
    clear: float
    median_error: float
    greatest_error: float
    inside: float
    fewest: float
    most: float
    anchors: float
    meetings: float
    first: float
    settled: float


def figures(evening: Evening) -> Figures:
    """Compare the ratings with the strengths."""
    strengths, ratings = evening.strengths, evening.ratings
    errors = [abs(ratings[team].value - strengths[team]) for team in strengths]
    clear = [
        (one, other) for one, other in itertools.permutations(strengths, 2) if strengths[one] > strengths[other] + CLEAR
    ]
    games = [evening.games[team] for team in strengths]
    return Figures(
        sum(ratings[one].value < ratings[other].value for one, other in clear),
        len(clear),
        statistics.median(errors),
        max(errors),
        statistics.fmean(ratings[team].low <= strengths[team] <= ratings[team].high for team in strengths),
        min(games),
        max(games),
        sum(evening.games[anchor] for anchor in ANCHORS) / sum(evening.games.values()),
        max(evening.meetings.values()),
        max(evening.first_game.get(team, math.inf) for team in strengths),
        statistics.median(evening.settled.get(team, math.inf) for team in strengths),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate some evenings with each policy, and print a table of their means."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--teams", type=int, default=40)
    parser.add_argument("--minutes", type=float, default=90.0)
    parser.add_argument("--game-seconds", type=float, default=2.0)
    parser.add_argument("--evenings", type=int, default=5)
    parser.add_argument("--table-seconds", type=float, default=TABLE)
    parser.add_argument("--policy", choices=sorted(POLICIES), action="append")
    options = parser.parse_args(arguments)
    names = ("policy", "wrong", "of", "median", "greatest", "inside", "fewest", "most", "anchors", "meetings", "first")
    print("".join(f"{name:>10}" for name in (*names, "settled")))
    for policy in options.policy or POLICIES:
        lines = []
        for seed in range(options.evenings):
            print(f"\r{policy}, evening {seed + 1}", end="", file=sys.stderr)
            chance = random.Random(seed)
            evening = play_evening(
                POLICIES[policy](),
                planted(options.teams, chance),
                chance,
                seconds=60 * options.minutes,
                game_seconds=options.game_seconds,
                table_seconds=options.table_seconds,
            )
            lines.append(figures(evening))
        print("\r", end="", file=sys.stderr)
        print(f"{policy:>10}" + "".join(f"{statistics.fmean(column):10.2f}" for column in zip(*lines, strict=True)))


if __name__ == "__main__":
    main()
