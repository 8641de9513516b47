"""The report as text: one table after the other, the same figures as in the JSON.

Law: nothing is measured or judged here. Where the driver was nearly as busy as it can be, the throughput is shown as a
lower bound.
"""

from __future__ import annotations

from collections.abc import Mapping

from bench.figures import Record, Records
from bench.table import figure_text, table_text

BUSY = 0.85  # share of the time above which a driver may be what is measured


def report_text(head: Mapping[str, str | int], records: Records) -> str:
    """Everything."""
    lines = [f"{name}: {value}" for name, value in head.items()]
    tables = _traffic_tables(records)
    return "\n".join((*lines, "", "Medians of the rounds, in brackets the least and the most.", "", *tables))


def _traffic_tables(records: Records) -> list[str]:
    found = records.where(part="traffic")
    if not found:
        return []
    words = ("edition", "games", "observers", "")
    names = [_traffic_words(record) for record in found]
    throughput = [
        (*name, _throughput(record), *_texts(record, "processor per move", "games playing", "driver busy"))
        for name, record in zip(names, found, strict=True)
    ]
    latency = [
        (*name, *_texts(record, "latency median", "latency p99", "latency max", "start median"))
        for name, record in zip(names, found, strict=True)
    ]
    ends = [
        (*name, *_texts(record, "memory peak", "games judged", "false verdicts"))
        for name, record in zip(names, found, strict=True)
    ]
    tables = [
        table_text("Throughput", words, ("moves/s", "processor us/move", "playing", "driver busy"), throughput),
        table_text("Latency, ms", words, ("median", "p99", "max", "first request"), latency),
        table_text("Memory and verdicts", words, ("peak MiB", "games", "false verdicts"), ends),
    ]
    if any(_is_lower_bound(record) for record in found):
        tables.insert(1, f">= : the driver was busy for more than {BUSY:.0%} of the time; a lower bound.\n")
    return tables


def _traffic_words(record: Record) -> tuple[str, str, str, str]:
    labels = record.labels
    return str(labels["edition"]), str(labels["games"]), str(labels["observers"]), str(labels["subject"])


def _texts(record: Record, *names: str) -> list[str]:
    return [figure_text(record.figures.get(name)) for name in names]


def _throughput(record: Record) -> str:
    return (">= " if _is_lower_bound(record) else "") + figure_text(record.figures["throughput"])


def _is_lower_bound(record: Record) -> bool:
    return record.figures["driver busy"].median > BUSY
