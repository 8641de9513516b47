"""The performance targets, and whether the figures of a run reach them.

Invariants: nothing is asserted. A ratio is computed for each round, and its median is compared with the target, so that
a machine that becomes slower during the run does not change the result. Something that was not measured has no line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from spielleiter.bench.figures import Figure, Label, Records, ratio_of
from spielleiter.bench.load.drivers import BUSY

LEAST_THROUGHPUT: Final = 0.4
"""The throughput as a fraction of that of the bare wire."""
LOADS: Final = (1, 20, 100)
"""The numbers of games at once for which it is compared."""
MOST_MEDIAN: Final = 2.5
"""The median latency as a multiple of that of the bare wire, with one game."""
MOST_P99: Final = 3.0
"""The 99th percentile of the latency as a multiple of that of the bare wire, with 100 games."""
LEAST_CROWDED: Final = 0.8
"""The throughput with 500 games as a fraction of that with 100."""
MOST_IDLE: Final = 60.0
"""The memory of an idle server, in MiB."""
MOST_PER_GAME: Final = 150.0
"""The memory of each additional game, in KiB."""
MOST_START: Final = 1.6
"""The time until the server accepts connections, as a multiple of the start time of bare Python."""
MOST_LATE: Final = 2.0
"""The latency of late plies as a multiple of that of early ones."""
MOST_BESIDE: Final = 1.2
"""The latency beside idle rooms as a multiple of that without them. They should be equal, but figures vary."""
MOST_RUNNER: Final = 50.0
"""The processor time of a match for each game in ms, without that of the players' programs."""
MOST_DISK: Final = 60.0
"""The disk space of a match for each game, in KiB."""
MOST_BUILT_IN: Final = 20.0
"""The time of 200 games between built-in players, two at a time, in seconds."""
LEAST_BESIDE_PAGES: Final = 0.95
"""The throughput of 50 games beside 100 pages of the viewer as a fraction of that without any page."""
LEAST_THROUGH_PROXY: Final = 2 / 3
"""The throughput through the proxy as a fraction of that without it, also with traces."""
LEAST_LINEAR: Final = 0.95
"""The share of the time of a cluster's machines in which they play, with pairs of two minutes."""
MOST_GROWTH: Final = 10.0
"""The memory of a match for 1,000 additional games, in MiB: only their records, which the reports are made from."""


@dataclass(frozen=True)
class Target:
    """A target, and the figure that was measured for it."""

    name: str
    edition: str
    """``all`` for a target that does not depend on the edition."""
    bound: float
    is_least: bool
    """Whether `bound` is a lower bound of the figure; otherwise it is an upper bound."""
    figure: float
    unit: str
    is_sure: bool = True
    """False if the driver was so busy that the figure may show the limit of the driver."""

    @property
    def is_reached(self) -> bool:
        """Whether the figure is within the bound."""
        return self.figure >= self.bound if self.is_least else self.figure <= self.bound

    def to_json(self) -> dict[str, Any]:
        """Return the target as a JSON object, with the names of the report."""
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
    """Return all targets for which these records have figures."""
    editions = dict.fromkeys(str(record.labels["edition"]) for record in records if "edition" in record.labels)
    found: list[Target] = []
    for edition in editions:
        found += _wire(records, edition)
    found += _verdicts(records)
    found += _machine(records)
    for edition in editions:
        found += _room(records, edition)
    for edition in editions:
        found += _viewer(records, edition)
    found += _proxy(records)
    for edition in editions:
        found += _match(records, "scripted", edition=edition)
    found += _match(records, "built-in")
    for record in records.where(part="cluster", programs="sleeping"):
        title = f"cluster, {record.labels['machines']} machines"
        found.append(Target(title, "all", LEAST_LINEAR, True, record.figures["of linear"].median, "of linear"))
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


def _viewer(records: Records, edition: str) -> Iterator[Target]:
    figure = records.figure("with pages to without", part="viewer", edition=edition)
    if figure is not None:
        yield Target("throughput beside pages", edition, LEAST_BESIDE_PAGES, True, figure.median, figure.unit)


def _proxy(records: Records) -> Iterator[Target]:
    for record in records.where(part="proxy"):
        edition = str(record.labels["edition"])
        way, figures = record.labels["way"], record.figures
        if "to direct" in figures:
            title = f"throughput, {way}, {_at(int(record.labels['games']))}"
            yield Target(title, edition, LEAST_THROUGH_PROXY, True, figures["to direct"].median, "of direct")
        for name in ("lost", "added"):
            if name in figures:
                yield Target(f"bytes {name}, {way}", edition, 0.0, False, sum(figures[name].rounds), "bytes")


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
        if figures:  # the longest match is the most accurate
            yield Target(title, edition, bound, False, figures[-1].median, figures[-1].unit)
    irregular = [record.figures["spoilt"] for record in found]
    if irregular:
        count = sum(sum(figure.rounds) for figure in irregular)
        yield Target(f"match, spoilt games, {programs} players", edition, 0.0, False, count, "games")
