"""The report of a soak: the verdicts on its games, compared with the expected ones.

Invariants: for each game, the verdict that its players expect is compared with the server's result. Games in which this
machine was too busy to send an answer when it was due are excluded, and counted.
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
    """What happens in a game. The value is the cause with which the game must end."""

    FAIR = "REGULAR"
    LATE = "SOFT_TIMEOUT"
    ILLEGAL = "RULE_VIOLATION"
    VANISHING = "LEFT"


@dataclass
class Tally:
    """What the players of some games did, and the verdicts that they expect."""

    moves: int = 0
    slow_moves: int = 0
    bad_clients: int = 0
    seconds: float = 0.0
    in_play_seconds: float = 0.0
    """The sum of the times for which the games were in play."""
    expected: dict[str, Conduct | None] = field(default_factory=dict)
    """By room; None if this machine was too busy to send an answer when it was due."""


@dataclass
class Report:
    """The results of a run."""

    warm_up: int = 0
    """The number of games that were played before the memory was measured for the first time."""
    games: int = 0
    moves: int = 0
    slow_moves: int = 0
    bad_clients: int = 0
    seconds: float = 0.0
    in_play_seconds: float = 0.0
    counted: Counter[Conduct | None] = field(default_factory=Counter)
    """The number of games of each kind; None stands for those whose verdict is uncertain."""
    false_timeouts: int = 0
    missed_late: int = 0
    other_verdicts: list[str] = field(default_factory=list)
    """A description of each of the other wrong verdicts."""
    usage: list[dict[str, Any]] = field(default_factory=list)
    """The resource usage of the server: before the first game, after the warm-up, at the end."""

    def add(self, tally: Tally) -> None:
        """Add the numbers of `tally`."""
        self.games += len(tally.expected)
        self.moves += tally.moves
        self.slow_moves += tally.slow_moves
        self.bad_clients += tally.bad_clients
        self.seconds += tally.seconds
        self.in_play_seconds += tally.in_play_seconds
        self.counted.update(tally.expected.values())

    def judge(self, expected: Mapping[str, Conduct | None], results: Mapping[str, list[str]]) -> None:
        """Compare the expected verdicts with the causes in the server's results, both by room."""
        for room in expected.keys() | results.keys():
            if room not in expected or room not in results:
                self.other_verdicts.append(f"{room}: {'not one of these games' if room in results else 'no result'}")
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
        """Whether there is no wrong verdict."""
        return not (self.false_timeouts or self.missed_late or self.other_verdicts)

    @property
    def leaks(self) -> dict[str, int]:
        """The numbers of tasks and file descriptors that were added between the first game and the end."""
        return {kind: self.usage[-1][kind] - self.usage[0][kind] for kind in ("tasks", "descriptors")}

    @property
    def growth(self) -> float:
        """The growth of the memory since the warm-up, as a fraction."""
        return float(self.usage[-1]["bytes"] / self.usage[1]["bytes"] - 1)

    def __str__(self) -> str:
        counted, (start, middle, end) = self.counted, self.usage
        pauses, mebibyte = end["pauses"], 2**20
        return f"""\
games played                                  {self.games}, {self.moves} moves, {self.moves / self.seconds:.0f} a second
games in play at once, on average             {self.in_play_seconds / self.seconds:.1f}
answers {IN_TIME} s after the request (in time)   {self.slow_moves}
answers {LATE} s after the request (late)     {counted[Conduct.LATE]}
illegal moves                                 {counted[Conduct.ILLEGAL]}
players that disconnected during a game       {counted[Conduct.VANISHING]}
clients that sent something wrong             {self.bad_clients}
games excluded, since this machine was busy   {counted[None]}
false timeouts                                {self.false_timeouts}
late answers that were not judged late        {self.missed_late}
other wrong verdicts                          {len(self.other_verdicts)} {self.other_verdicts[:5] or ""}
memory at the start                           {start["bytes"] / mebibyte:.1f} MiB
memory after {self.warm_up} games                       {middle["bytes"] / mebibyte:.1f} MiB
memory at the end                             {end["bytes"] / mebibyte:.1f} MiB ({self.growth:+.1%})
tasks before and after                        {start["tasks"]}, {end["tasks"]}
file descriptors before and after             {start["descriptors"]}, {end["descriptors"]}
pauses of the garbage collector               {pauses["count"]}, {pauses["total"]:.3f} s in total, \
{1e3 * pauses["longest"]:.1f} ms the longest
objects that only a collection frees          {end["collected"]}"""
