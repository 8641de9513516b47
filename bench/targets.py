"""What is to be reached, and whether it is: ratios of figures from the same run.

Law: nothing is asserted. A ratio is taken round by round and its median told, so that a machine that has become slower
in between does not decide. What was not measured has no line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from spielleiter.bench.figures import Figure, Label, Records, ratio_of
from spielleiter.bench.load.drivers import BUSY

LEAST_THROUGHPUT: Final = 0.4
"""Of the bare wire's."""
LOADS: Final = (1, 20, 100)
MOST_MEDIAN: Final = 2.5
"""Times the bare wire's, at one game."""
MOST_P99: Final = 3.0
"""Times the bare wire's, at 100 games."""
LEAST_CROWDED: Final = 0.8
"""Of the throughput at 100 games, at 500."""
MOST_IDLE: Final = 60.0  # MiB
MOST_PER_GAME: Final = 150.0  # KiB
MOST_START: Final = 1.6
MOST_LATE: Final = 2.0
MOST_BESIDE: Final = 1.2
"""Independent of other rooms, but for what figures vary by."""
MOST_RUNNER: Final = 50.0  # ms of the processor a game, beyond what the programs use
MOST_DISK: Final = 60.0  # KiB a game
MOST_BUILT_IN: Final = 20.0  # s for 200 games of built-in players, two at a time
MOST_GROWTH: Final = 10.0
"""MiB for 1,000 games more: their records, which reports are made from, and nothing else."""


@dataclass(frozen=True)
class Target:
    """One line: what, of which edition, the bound, what was measured."""

    name: str
    edition: str
    bound: float
    is_least: bool
    """The figure is to be no less than `bound`; else it is to be no more."""
    figure: float
    unit: str
    is_sure: bool = True
    """False if the driver was so busy that the figure may be its own."""

    @property
    def is_reached(self) -> bool:
        return self.figure >= self.bound if self.is_least else self.figure <= self.bound

    def to_json(self) -> dict[str, Any]:
        """With the words of the report."""
        return {
            "target": self.name,
            "edition": self.edition,
            "least" if self.is_least else "most": self.bound,
            "figure": self.figure,
            "unit": self.unit,
            "reached": self.is_reached,
            "sure": self.is_sure,
        }


def targets_of(records: Records) -> list[Target]:
    """All that can be told from these records."""
    editions = dict.fromkeys(str(record.labels["edition"]) for record in records if "edition" in record.labels)
    found: list[Target] = []
    for edition in editions:
        found += _wire(records, edition)
    found += _verdicts(records)
    found += _machine(records)
    for edition in editions:
        found += _room(records, edition)
    for edition in editions:
        found += _match(records, "scripted", edition=edition)
    found += _match(records, "built-in")
    return found


def _wire(records: Records, edition: str) -> Iterator[Target]:
    def traffic(name: str, subject: str, games: int) -> Figure | None:
        return records.figure(name, part="traffic", subject=subject, edition=edition, games=games, observers=0)

    def compared(name: str, games: int) -> tuple[float | None, bool]:
        busy = traffic("driver busy", "floor", games)
        ratio = ratio_of(traffic(name, "server", games), traffic(name, "floor", games))
        return ratio, busy is None or busy.median <= BUSY

    for games in LOADS:
        ratio, is_sure = compared("throughput", games)
        if ratio is not None:
            yield Target(f"throughput, {_at(games)}", edition, LEAST_THROUGHPUT, True, ratio, "of floor", is_sure)
    for name, games, bound in (("latency median", 1, MOST_MEDIAN), ("latency p99", 100, MOST_P99)):
        ratio, is_sure = compared(name, games)
        if ratio is not None:
            yield Target(f"{name}, {_at(games)}", edition, bound, False, ratio, "x floor", is_sure)
    ratio = ratio_of(traffic("throughput", "server", 500), traffic("throughput", "server", 100))
    if ratio is not None:
        yield Target(f"throughput, {_at(500)}", edition, LEAST_CROWDED, True, ratio, "of that at 100")


def _at(games: int) -> str:
    return f"{games} game{'s' * (games != 1)} at once"


def _verdicts(records: Records) -> Iterator[Target]:
    counts = [record.figures["false verdicts"] for record in records if "false verdicts" in record.figures]
    if counts:
        yield Target("false verdicts", "all", 0.0, False, sum(sum(count.rounds) for count in counts), "games")


def _machine(records: Records) -> Iterator[Target]:
    for name, part, bound, title in (
        ("server to bare Python", "start", MOST_START, "start to accepting"),
        ("idle", "memory", MOST_IDLE, "memory, idle"),
    ):
        figure = records.figure(name, part=part)
        if figure is not None:
            yield Target(title, "all", bound, False, figure.median, figure.unit)


def _room(records: Records, edition: str) -> Iterator[Target]:
    labels: dict[str, Label] = {"edition": edition}
    for name, part, bound, title in (
        ("each game more", "memory", MOST_PER_GAME, "memory, each game more"),
        ("late to early", "plies", MOST_LATE, "late plies to early ones"),
        ("beside to alone", "plies", MOST_BESIDE, "beside idle rooms to alone"),
    ):
        figure = records.figure(name, part=part, **labels)
        if figure is not None:
            yield Target(title, edition, bound, False, figure.median, figure.unit)


def _match(records: Records, programs: str, **labels: Label) -> Iterator[Target]:
    edition = str(labels.get("edition", "all"))
    found = records.where(part="match", programs=programs, **labels)
    for name, bound, title in (
        ("runner's processor, a game", MOST_RUNNER, "match, runner's processor a game"),
        ("disk, a game", MOST_DISK, f"match, disk a game, {programs} players"),
        ("200 games", MOST_BUILT_IN, "match, 200 games of built-in players"),
        ("memory, 1,000 games more", MOST_GROWTH, "match, memory for 1,000 games more"),
    ):
        figures = [record.figures[name] for record in found if name in record.figures]
        if figures:  # the longest match says it best
            yield Target(title, edition, bound, False, figures[-1].median, figures[-1].unit)
    spoilt = [record.figures["spoilt"] for record in found]
    if spoilt:
        count = sum(sum(figure.rounds) for figure in spoilt)
        yield Target(f"match, spoilt games, {programs} players", edition, 0.0, False, count, "games")
