"""The report as text: one table after the other, the same figures as in the JSON.

Law: nothing is measured or judged here. Where the driver was nearly as busy as it can be, the throughput is shown as a
lower bound. No line is longer than 100 columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bench.driving import BUSY
from bench.figures import Record, Records
from bench.table import Table, figure_text, number_text
from bench.targets import Target

_PREFIX: Final = "blokus-"
_LOWER_BOUND: Final = "> "


def report_text(head: Mapping[str, str | int | float], records: Records, targets: Sequence[Target]) -> str:
    """Everything."""
    lines = [f"{name:12} {value}" for name, value in head.items()]
    lines += ["", "Each figure is the median of its rounds; in brackets are the least and the most of them.", ""]
    tables = (*_traffic(records), *_rules(records), *_protocol(records), *_single(records), *_targets(targets))
    return "\n".join((*lines, *(table.text() for table in tables)))


def _edition(record: Record) -> str:
    return str(record.labels.get("edition", "")).removeprefix(_PREFIX)


def _texts(record: Record, *names: str) -> list[str]:
    return [figure_text(record.figures.get(name)) for name in names]


def _traffic(records: Records) -> list[Table]:
    found = records.where(part="traffic")
    if not found:
        return []
    throughput = Table(
        "Games at once: throughput",
        ("edition", "games", "observers", ""),
        ("moves/s", "of floor", "us/move", "playing", "driver"),
        note="us/move: processor time of the process that is measured. playing: games that had got their first request "
        "when the time was over; the others waited for their players to be let in. driver: share of the time in which "
        f"the driver had a processor; above {BUSY:.0%} of it the throughput is a lower bound and marked >.",
    )
    latency = Table(
        "Games at once: latency in ms, from a move sent to the next request received",
        throughput.words,
        ("median", "p99", "max", "first request"),
        note="first request: median from a game's players connecting to the first request of the game.",
    )
    ends = Table(
        "Games at once: the server's memory, and how games ended",
        ("edition", "games", "observers"),
        ("peak MiB", "games ended", "false verdicts"),
    )
    for record in found:
        labels = record.labels
        words = [_edition(record), str(labels["games"]), str(labels["observers"])]
        subject = str(labels["subject"])
        floor = records.figure("throughput", **{**labels, "subject": "floor"})
        own = record.figures["throughput"]
        share = number_text(own.median / floor.median) if floor is not None and subject != "floor" else ""
        bound = _LOWER_BOUND if record.figures["driver busy"].median > BUSY else ""
        rest = _texts(record, "processor per move", "games playing", "driver busy")
        throughput.add(*words, subject, bound + figure_text(own), share, *rest)
        latency.add(
            *words, subject, *_texts(record, "latency median", "latency p99", "latency max", "start median")
        )
        if "false verdicts" in record.figures:
            ends.add(*words, *_texts(record, "memory peak", "games judged", "false verdicts"))
    return [table for table in (throughput, latency, ends) if table.rows]


def _rules(records: Records) -> list[Table]:
    table = _by_edition("Rules, us for each position", records.where(part="rules"))
    for record in records.where(part="rules"):
        table.notes.append(f"{_edition(record)}: {record.labels['positions']} positions ({record.labels['source']})")
    return [table] if table.rows else []


def _protocol(records: Records) -> list[Table]:
    table = _by_edition("Protocol, us", records.where(part="protocol"))
    return [table] if table.rows else []


def _by_edition(title: str, found: Sequence[Record]) -> Table:
    """What was measured downwards, editions across."""
    table = Table(title, ("",), tuple(_edition(record) for record in found))
    for name in found[0].figures if found else ():
        unit = found[0].figures[name].unit
        table.add(name if unit == "us" else f"{name}, {unit}", *(figure_text(each.figures.get(name)) for each in found))
    return table


def _single(records: Records) -> list[Table]:
    tables = []
    for part, title in (("start", "Start"), ("memory", "Memory of the server"), ("plies", "One game: plies and rooms")):
        table = Table(title, ("", "edition"), ("", "unit"))
        for record in records.where(part=part):
            for name, figure in record.figures.items():
                table.add(_with_counts(name, record), _edition(record), figure_text(figure), figure.unit)
        if table.rows:
            tables.append(table)
    return tables


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
        table.notes.append("?: the driver was too busy at the floor to be sure")
    return [table] if table.rows else []
