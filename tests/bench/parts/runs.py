"""Short runs of one part of the benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from spielleiter.bench.figures import Record, Records
from spielleiter.bench.options import Options


def measure(part: Callable[[Options, Records], Iterator[str]], options: Options) -> tuple[list[str], list[Record]]:
    """The steps that a part announces, and its records."""
    records = Records()
    steps = list(part(options, records))
    return steps, list(records)


def values(record: Record) -> dict[str, float]:
    """The value of each figure of a record that was measured in one round."""
    return {name: figure.rounds[0] for name, figure in record.figures.items()}
