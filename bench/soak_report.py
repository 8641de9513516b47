"""What became of the games of a soak, and whether that is what should have.

Law: what the players know of their games is compared with the server's results, game by game; what this machine was too
busy to play as it should have been played is left out, and counted.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

IN_TIME: Final = 1.9
LATE: Final = 2.05


class Conduct(enum.Enum):
    """How a game goes, and the cause that ends it."""

    FAIR = "REGULAR"
    LATE = "SOFT_TIMEOUT"
    ILLEGAL = "RULE_VIOLATION"
    VANISHING = "LEFT"


@dataclass
class Tally:
    """What the players did, by their own account."""

    moves: int = 0
    slow_moves: int = 0
    bad_clients: int = 0
    seconds: float = 0.0
    in_play_seconds: float = 0.0
    """Of all games together."""
    expected: dict[str, Conduct | None] = field(default_factory=dict)
    """By room; None where this machine was too busy to let the answer out when it was due."""


@dataclass
class Report:
    """What came of a run."""

    warm_up: int = 0
    """So many games were played before memory was looked at for the first time."""
    games: int = 0
    moves: int = 0
    slow_moves: int = 0
    bad_clients: int = 0
    seconds: float = 0.0
    in_play_seconds: float = 0.0
    counted: Counter[Conduct | None] = field(default_factory=Counter)
    """Games by what should become of them; None: nobody can tell."""
    false_timeouts: int = 0
    missed_late: int = 0
    other_verdicts: list[str] = field(default_factory=list)
    """Whatever else was judged wrongly."""
    left: list[dict[str, Any]] = field(default_factory=list)
    """What there was in the server's process: before the first game, after the warm-up, at the end."""

    def add(self, tally: Tally) -> None:
        self.games += len(tally.expected)
        self.moves += tally.moves
        self.slow_moves += tally.slow_moves
        self.bad_clients += tally.bad_clients
        self.seconds += tally.seconds
        self.in_play_seconds += tally.in_play_seconds
        self.counted.update(tally.expected.values())

    def judge(self, expected: Mapping[str, Conduct | None], results: Mapping[str, list[str]]) -> None:
        """Compare with the causes the server gave, by room."""
        for room in expected.keys() | results.keys():
            if room not in expected or room not in results:
                self.other_verdicts.append(f"{room}: {'nobody played it' if room in results else 'no result'}")
                continue
            conduct, causes = expected[room], [cause for cause in results[room] if cause != Conduct.FAIR.value]
            is_timeout = any(cause.endswith("TIMEOUT") for cause in causes)
            if conduct is None or causes == ([] if conduct is Conduct.FAIR else [conduct.value]):
                continue
            if is_timeout:
                self.false_timeouts += 1
            elif conduct is Conduct.LATE:
                self.missed_late += 1
            else:
                self.other_verdicts.append(f"{room}: {conduct.name.lower()} was judged {causes}")

    @property
    def is_right(self) -> bool:
        return not (self.false_timeouts or self.missed_late or self.other_verdicts)

    @property
    def leaks(self) -> dict[str, int]:
        """More at the end than before the first game."""
        return {kind: self.left[-1][kind] - self.left[0][kind] for kind in ("tasks", "descriptors")}

    @property
    def growth(self) -> float:
        """Of the memory since the warm-up."""
        return float(self.left[-1]["bytes"] / self.left[1]["bytes"] - 1)

    def __str__(self) -> str:
        counted, (start, middle, end) = self.counted, self.left
        pauses, mebibyte = end["pauses"], 2**20
        return f"""\
games played                                  {self.games}, {self.moves} moves, {self.moves / self.seconds:.0f} a second
games in play at once, on average             {self.in_play_seconds / self.seconds:.1f}
answers {IN_TIME} s after the request (in time)   {self.slow_moves}
answers {LATE} s after the request (late)     {counted[Conduct.LATE]}
illegal moves                                 {counted[Conduct.ILLEGAL]}
players that vanished amid a game             {counted[Conduct.VANISHING]}
clients that said something wrong             {self.bad_clients}
games this machine was too busy to play right {counted[None]} (left out)
false timeouts                                {self.false_timeouts}
late answers that were not judged             {self.missed_late}
other wrong verdicts                          {len(self.other_verdicts)} {self.other_verdicts[:5] or ""}
memory at the start                           {start["bytes"] / mebibyte:.1f} MiB
memory after {self.warm_up} games                       {middle["bytes"] / mebibyte:.1f} MiB
memory at the end                             {end["bytes"] / mebibyte:.1f} MiB ({self.growth:+.1%})
tasks before and afterwards                   {start["tasks"]}, {end["tasks"]}
descriptors before and afterwards             {start["descriptors"]}, {end["descriptors"]}
pauses of the garbage collector               {pauses["count"]}, {pauses["total"]:.3f} s together, \
{1e3 * pauses["longest"]:.1f} ms the longest
objects left that only a collection frees     {end["collected"]}"""
