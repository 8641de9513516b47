"""The figures of a run, the targets that they are compared with, and the report as text and as JSON.

A `Figure` has a unit and a value for each round, a `Record` has labels and figures. Nothing is discarded before the
report, and nothing is a failure: a target that is missed is reported as such.
"""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from spielleiter.bench.drivers import BUSY

Label: TypeAlias = str | int
WIDTH: Final = 100
"""The number of columns at which notes are wrapped."""
_INDENT: Final = "  "
_PREFIX: Final = "blokus-"
COMPARED: Final = (
    ("throughput", 1, 0.4, True),
    ("throughput", 20, 0.4, True),
    ("throughput", 100, 0.4, True),
    ("latency median", 1, 2.5, False),
    ("latency p99", 100, 3.0, False),
)
"""What is compared with the bare wire: figure, number of games at once, bound, and whether this is a lower bound."""
LEAST_OF_100_GAMES: Final = 0.8
"""The throughput with 500 games as a fraction of that with 100."""
MOST_START: Final = 1.4
"""The time until the server accepts connections, as a multiple of the start time of bare Python."""
KEPT_COST: Final = "runner's processor, a game of kept programs"
MATCH_BOUNDS: Final = (
    ("runner's processor, a game", 50.0, "match, runner's processor a game"),  # in ms, without the programs'
    (KEPT_COST, 20.0, f"match, {KEPT_COST}"),
    ("disk, a game", 60.0, "match, disk a game, {} players"),  # in KiB
    ("200 games", 20.0, "match, 200 games of built-in players"),  # in seconds, two at a time
    ("memory, 1,000 games more", 10.0, "match, memory for 1,000 games more"),  # in MiB: their records, for the reports
)
"""The figures of a match, their upper bounds, and the names of the targets."""


@dataclass(frozen=True)
class Figure:
    """One quantity in one unit, measured in several rounds."""

    unit: str
    rounds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    def to_json(self) -> dict[str, Any]:
        """Return the figure as a JSON object. A value that is not finite becomes null."""

        def finite(value: float) -> float | None:
            return value if math.isfinite(value) else None

        return {
            "unit": self.unit,
            "median": finite(self.median),
            "min": finite(min(self.rounds)),
            "max": finite(max(self.rounds)),
            "rounds": [finite(value) for value in self.rounds],
        }


def ratio_of(numerator: Figure | None, denominator: Figure | None) -> float | None:
    """Return the median of the ratios of each round; None if either figure was not measured.

    Round by round, so that a machine that becomes slower during the run does not change the result.
    """
    if numerator is None or denominator is None:
        return None
    return statistics.median(one / other for one, other in zip(numerator.rounds, denominator.rounds, strict=True))


@dataclass
class Record:
    """The figures of one measurement by name. `labels` say what was measured."""

    labels: dict[str, Label]
    figures: dict[str, Figure] = field(default_factory=dict)

    @property
    def edition(self) -> str:
        """The name of the edition in tables; empty for a record that belongs to none."""
        return str(self.labels.get("edition", "")).removeprefix(_PREFIX)

    def to_json(self) -> dict[str, Any]:
        """Return the record as a JSON object: the labels, and the figures under the key ``figures``."""
        return {**self.labels, "figures": {name: figure.to_json() for name, figure in self.figures.items()}}


class Records:
    """All records of a run, each with different labels. The values are added round by round."""

    def __init__(self) -> None:
        self._records: dict[tuple[tuple[str, Label], ...], Record] = {}

    def add(self, labels: Mapping[str, Label], values: Mapping[str, tuple[float, str]]) -> None:
        """Add one round to the record with these labels. `values` maps the name of a figure to its value and unit."""
        record = self._records.setdefault(tuple(labels.items()), Record(dict(labels)))
        for name, (value, unit) in values.items():
            known = record.figures.get(name, Figure(unit, ()))
            record.figures[name] = Figure(unit, (*known.rounds, value))

    def where(self, **labels: Label) -> list[Record]:
        """Return the records that have all of these labels, in the order in which they were first measured."""
        return [
            record
            for record in self._records.values()
            if all(record.labels.get(key) == value for key, value in labels.items())
        ]

    def figure(self, name: str, **labels: Label) -> Figure | None:
        """Return the figure `name` of the first record that has all of these labels and this figure, or None."""
        return next((record.figures[name] for record in self.where(**labels) if name in record.figures), None)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records.values())


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
    editions = list(dict.fromkeys(str(record.labels["edition"]) for record in records if "edition" in record.labels))
    found: list[Target] = []
    for edition in editions:
        found += _traffic_targets(records, edition)
    counts = [record.figures["false verdicts"] for record in records if "false verdicts" in record.figures]
    if counts:
        found.append(Target("false verdicts", "all", 0.0, False, sum(sum(count.rounds) for count in counts), "games"))
    start = records.figure("server to bare Python", part="start")
    if start is not None:
        found.append(Target("start to accepting", "all", MOST_START, False, start.median, start.unit))
    for edition in editions:
        found += _match_targets(records.where(part="match", programs="scripted", edition=edition), "scripted", edition)
    return [*found, *_match_targets(records.where(part="match", programs="built-in"), "built-in", "all")]


def _traffic_targets(records: Records, edition: str) -> Iterator[Target]:
    def traffic(name: str, subject: str, games: int) -> Figure | None:
        return records.figure(name, part="traffic", subject=subject, edition=edition, games=games, observers=0)

    for name, games, bound, is_least in COMPARED:
        ratio = ratio_of(traffic(name, "server", games), traffic(name, "floor", games))
        if ratio is not None:
            busy = traffic("driver busy", "floor", games)
            title = f"{name}, {games} game{'s' * (games != 1)} at once"
            unit = "of floor" if is_least else "x floor"
            yield Target(title, edition, bound, is_least, ratio, unit, busy is None or busy.median <= BUSY)
    ratio = ratio_of(traffic("throughput", "server", 500), traffic("throughput", "server", 100))
    if ratio is not None:
        yield Target("throughput, 500 games at once", edition, LEAST_OF_100_GAMES, True, ratio, "of that at 100")


def _match_targets(found: Sequence[Record], programs: str, edition: str) -> Iterator[Target]:
    for name, bound, title in MATCH_BOUNDS:
        figures = [record.figures[name] for record in found if name in record.figures]
        if figures:  # the longest match is the most accurate
            yield Target(title.format(programs), edition, bound, False, figures[-1].median, figures[-1].unit)
    if found:
        count = sum(sum(record.figures["spoilt"].rounds) for record in found)
        yield Target(f"match, spoilt games, {programs} players", edition, 0.0, False, count, "games")


def number_text(value: float) -> str:
    """Return a number with three significant digits, and with all digits before the point; NaN becomes ``-``.

    Examples: ``12,345``, ``87.1``, ``0.0523``, ``4.67M``.
    """
    if math.isnan(value):
        return "-"
    if abs(value) >= 1e6:
        return f"{number_text(value / 1e6)}M"
    if value == 0 or abs(value) >= 1000 or float(value).is_integer():
        return f"{value:,.0f}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}"


def figure_text(figure: Figure | None) -> str:
    """Return the median, with the minimum and maximum if they differ: ``87.1 (85.0-90.2)``; an empty text for None."""
    if figure is None:
        return ""
    text = number_text(figure.median)
    least, most = number_text(min(figure.rounds)), number_text(max(figure.rounds))
    return text if least == most or math.isnan(figure.median) else f"{text} ({least}-{most})"


Row: TypeAlias = Sequence[str]


def table_text(title: str, words: Row, figures: Row, rows: Sequence[Row], note: str = "") -> str:
    """Return a table, which ends with an empty line; nothing without rows.

    The columns with the headers `words` are aligned to the left, those with `figures` after them to the right. Raises
    ValueError for a row that has not a cell for each column.
    """
    if not rows:
        return ""
    lines = [(*words, *figures), *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    shown = []
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line[: len(words)], widths, strict=False)]
        cells += [cell.rjust(width) for cell, width in zip(line[len(words) :], widths[len(words) :], strict=True)]
        shown.append((_INDENT + "  ".join(cells)).rstrip())
    notes = textwrap.wrap(note, WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
    return "\n".join((title, "", *shown, *notes, "", ""))


def report_text(head: Mapping[str, str | int | float], records: Records, targets: Sequence[Target]) -> str:
    """Return the whole report. `head` describes the run: names and values that are shown first."""
    lines = [f"{name:12} {value}" for name, value in head.items()]
    lines += ["", "Each figure is the median of its rounds, with their minimum and maximum in brackets.", "", ""]
    start = [
        (name, figure_text(figure), figure.unit)
        for record in records.where(part="start")
        for name, figure in record.figures.items()
    ]
    matches = [
        (str(record.labels["programs"]), record.edition, str(record.labels["games"]), name, text, unit)
        for record in records.where(part="match")
        for name, text, unit in ((name, figure_text(each), each.unit) for name, each in record.figures.items())
    ]
    judged = [
        (
            target.name,
            target.edition.removeprefix(_PREFIX),
            ("yes" if target.is_reached else "no") + ("" if target.is_sure else " ?"),
            ">=" if target.is_least else "<=",
            number_text(target.bound),
            number_text(target.figure),
            target.unit,
        )
        for target in targets
    ]
    tables = (
        _traffic_tables(records),
        table_text("Start", ("",), ("", "unit"), start),
        table_text(
            "Matches",
            ("programs", "edition", "games", ""),
            ("", "unit"),
            matches,
            "scripted: two programs that know their moves in advance and are started anew for every game, or kept for "
            "all games, two at a time. built-in: builtin:greedy against builtin:random, two games at a time. 200 "
            "games: the time that they would take.",
        ),
        table_text(
            "Targets",
            ("", "edition", "", ""),
            ("bound", "figure", "unit"),
            judged,
            ""
            if all(target.is_sure for target in targets)
            else "?: uncertain, since the driver was too busy when the floor was measured",
        ),
    )
    return "\n".join(lines) + "".join(tables)


def _traffic_tables(records: Records) -> str:
    throughput, latency, games = [], [], []
    for record in records.where(part="traffic"):
        labels, figures = record.labels, record.figures
        texts = {name: figure_text(figure) for name, figure in figures.items()}
        medians = {name: number_text(figure.median) for name, figure in figures.items()}
        own = (record.edition, str(labels["games"]), str(labels["observers"]), str(labels["subject"]))
        floor = records.figure("throughput", **{**labels, "subject": "floor"})
        ratio = ratio_of(figures["throughput"], floor) if labels["subject"] != "floor" else None
        speed = "> " * (figures["driver busy"].median > BUSY) + texts["throughput"]
        share = "" if ratio is None else number_text(ratio)
        throughput.append((*own, speed, share, texts.get("processor per move", ""), medians["driver busy"]))
        latency.append((*own, *(texts.get(f"latency {name}", "") for name in ("median", "p99", "max"))))
        begun = (medians.get("games playing", ""), texts.get("start median", ""), texts.get("memory peak", ""))
        games.append((*own, *begun, medians.get("games judged", ""), medians.get("false verdicts", "")))
    words = ("edition", "games", "obs.", "")
    return "".join(
        (
            table_text(
                "Games at once: throughput",
                words,
                ("moves/s", "of floor", "us/move", "driver"),
                throughput,
                "obs.: observers of each game. us/move: processor time of the measured process. driver: fraction of "
                f"the time in which the driver used a processor; above {BUSY:.0%} the throughput is a lower bound, "
                "marked >.",
            ),
            table_text(
                "Games at once: latency in ms, from a move sent to the next request received",
                words,
                ("median", "p99", "max"),
                latency,
            ),
            table_text(
                "Games at once: how they begin and end",
                words,
                ("playing", "first request ms", "peak MiB", "ended", "false"),
                games,
                "playing: games whose first request had arrived when the interval ended; the players of the others "
                "were still waiting to be admitted. first request: median time from the players' connecting to the "
                "first request; games still waiting count with the time so far. peak: memory of the process. ended: "
                "games whose end the server has reported; false: those with a wrong result.",
            ),
        )
    )
