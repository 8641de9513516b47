"""The report as text: a sequence of tables with the same figures as the JSON.

Invariants: nothing is measured or judged here. If the driver was nearly as busy as possible, the throughput is shown as
a lower bound. No line is longer than 100 columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from spielleiter.bench.figures import Record, Records, ratio_of
from spielleiter.bench.load.drivers import BUSY
from spielleiter.bench.table import Table, figure_text, number_text
from spielleiter.bench.targets import Target

_PREFIX: Final = "blokus-"
_LOWER_BOUND: Final = "> "


def report_text(head: Mapping[str, str | int | float], records: Records, targets: Sequence[Target]) -> str:
    """Return the whole report. `head` describes the run: names and values that are shown first."""
    lines = [f"{name:12} {value}" for name, value in head.items()]
    lines += ["", "Each figure is the median of its rounds, with their minimum and maximum in brackets.", ""]
    tables = (*_traffic(records), *_rules(records), *_protocol(records), *_single(records), *_matches(records))
    tables = (*tables, *_proxies(records), *_clusters(records))
    tables = (*tables, *_targets(targets))
    return "\n".join((*lines, *(table.text() for table in tables)))


def _edition(record: Record) -> str:
    return str(record.labels.get("edition", "")).removeprefix(_PREFIX)


def _texts(record: Record, *names: str) -> list[str]:
    return [figure_text(record.figures.get(name)) for name in names]


def _medians(record: Record, *names: str) -> list[str]:
    return [number_text(record.figures[name].median) if name in record.figures else "" for name in names]


def _traffic(records: Records) -> list[Table]:
    found = records.where(part="traffic")
    if not found:
        return []
    words = ("edition", "games", "obs.", "")
    throughput = Table(
        "Games at once: throughput",
        words,
        ("moves/s", "of floor", "us/move", "driver"),
        note="obs.: observers of each game. us/move: processor time of the measured process. driver: fraction of the "
        f"time in which the driver used a processor; above {BUSY:.0%} the throughput is a lower bound, marked >.",
    )
    latency = Table(
        "Games at once: latency in ms, from a move sent to the next request received", words, ("median", "p99", "max")
    )
    games = Table(
        "Games at once: how they begin and end",
        words,
        ("playing", "first request ms", "peak MiB", "ended", "false"),
        note="playing: games whose first request had arrived when the interval ended; the players of the others were "
        "still waiting to be admitted. first request: median time from the players' connecting to the first request; "
        "games still waiting count with the time so far. peak: memory of the process. ended: games whose end the "
        "server has reported; false: those with a wrong result.",
    )
    for record in found:
        labels = record.labels
        subject = str(labels["subject"])
        own = (_edition(record), str(labels["games"]), str(labels["observers"]), subject)
        floor = records.figure("throughput", **{**labels, "subject": "floor"})
        speed = record.figures["throughput"]
        ratio = ratio_of(speed, floor) if subject != "floor" else None
        share = "" if ratio is None else number_text(ratio)
        bound = _LOWER_BOUND if record.figures["driver busy"].median > BUSY else ""
        cost, busy = _texts(record, "processor per move"), _medians(record, "driver busy")
        throughput.add(*own, bound + figure_text(speed), share, *cost, *busy)
        latency.add(*own, *_texts(record, "latency median", "latency p99", "latency max"))
        games.add(
            *own,
            *_medians(record, "games playing"),
            *_texts(record, "start median", "memory peak"),
            *_medians(record, "games judged", "false verdicts"),
        )
    return [throughput, latency, games]


def _rules(records: Records) -> list[Table]:
    table = _by_edition("Rules, us for each position", records.where(part="rules"))
    for record in records.where(part="rules"):
        table.notes.append(f"{_edition(record)}: {record.labels['positions']} positions ({record.labels['source']})")
    return [table] if table.rows else []


def _protocol(records: Records) -> list[Table]:
    table = _by_edition("Protocol, us", records.where(part="protocol"))
    return [table] if table.rows else []


def _by_edition(title: str, found: Sequence[Record]) -> Table:
    """Return a table with a row for each figure and a column for each edition."""
    table = Table(title, ("",), tuple(_edition(record) for record in found))
    for name in found[0].figures if found else ():
        unit = found[0].figures[name].unit
        table.add(name if unit == "us" else f"{name}, {unit}", *(figure_text(each.figures.get(name)) for each in found))
    return table


_SINGLE: Final = (
    ("start", "Start"),
    ("memory", "Memory of the server"),
    ("plies", "One game: plies and rooms"),
    ("viewer", "Pages of the viewer"),
)
"""The parts whose figures are listed one below the other, with the titles of their tables."""


def _single(records: Records) -> list[Table]:
    tables = []
    for part, title in _SINGLE:
        table = Table(title, ("", "edition"), ("", "unit"))
        for record in records.where(part=part):
            for name, figure in record.figures.items():
                table.add(_with_counts(name, record), _edition(record), figure_text(figure), figure.unit)
        if table.rows:
            tables.append(table)
    return tables


def _matches(records: Records) -> list[Table]:
    note = (
        "scripted: two programs that know their moves in advance and are started anew for every game. built-in: "
        "builtin:greedy against builtin:random, two games at a time. 200 games: the time that they would take."
    )
    return _one_figure_a_row("Matches", records.where(part="match"), ("programs", "edition", "games"), note)


def _proxies(records: Records) -> list[Table]:
    note = (
        "direct: without the proxy, in the same round. sent and lost: the bytes of whole games at both ends of the "
        "proxy, in both directions; an altered byte counts as lost."
    )
    return _one_figure_a_row("The proxy", records.where(part="proxy"), ("edition", "games", "way"), note)


def _clusters(records: Records) -> list[Table]:
    note = (
        "built-in: builtin:first against builtin:random, as many games at a time as workers of this machine, elapsed "
        "time. sleeping: simulated machines; the share of their time in which they play."
    )
    return _one_figure_a_row("Clusters", records.where(part="cluster"), ("programs", "machines"), note)


def _one_figure_a_row(title: str, records: Iterable[Record], labels: tuple[str, ...], note: str) -> list[Table]:
    """Return a table with `labels` before each figure; no table without records."""
    table = Table(title, (*labels, ""), ("", "unit"))
    for record in records:
        own = [_edition(record) if label == "edition" else str(record.labels[label]) for label in labels]
        for name, figure in record.figures.items():
            table.add(*own, name, figure_text(figure), figure.unit)
    table.notes.append(note)
    return [table] if table.rows else []


def _with_counts(name: str, record: Record) -> str:
    labels = record.labels
    if name.endswith("game more"):
        return f"{name} ({labels['from']} to {labels['to']})"
    return name.replace("idle rooms", f"{labels.get('idle rooms', '')} idle rooms")


def _targets(targets: Sequence[Target]) -> list[Table]:
    table = Table("Targets", ("", "edition", "", ""), ("bound", "figure", "unit"))
    for target in targets:
        word = ("yes" if target.is_reached else "no") + ("" if target.is_sure else " ?")
        sign = ">=" if target.is_least else "<="
        bound, figure = number_text(target.bound), number_text(target.figure)
        table.add(target.name, target.edition.removeprefix(_PREFIX), word, sign, bound, figure, target.unit)
    if any(not target.is_sure for target in targets):
        table.notes.append("?: uncertain, since the driver was too busy when the floor was measured")
    return [table] if table.rows else []
