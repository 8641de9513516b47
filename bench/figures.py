"""The results of a run as values: a `Figure` has a unit and a value for each round, a `Record` has labels and figures.

Invariants: nothing is discarded before the report. Each figure keeps the values of all rounds beside their median.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Label: TypeAlias = str | int


@dataclass(frozen=True)
class Figure:
    """One quantity in one unit, measured in several rounds."""

    unit: str
    rounds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def least(self) -> float:
        return min(self.rounds)

    @property
    def most(self) -> float:
        return max(self.rounds)

    def to_json(self) -> dict[str, Any]:
        """Return the figure as a JSON object. A value that is not finite becomes null."""

        def finite(value: float) -> float | None:
            return value if math.isfinite(value) else None

        return {
            "unit": self.unit,
            "median": finite(self.median),
            "min": finite(self.least),
            "max": finite(self.most),
            "rounds": [finite(value) for value in self.rounds],
        }


def ratio_of(numerator: Figure | None, denominator: Figure | None) -> float | None:
    """Return the median of the ratios of each round; None if either figure was not measured."""
    if numerator is None or denominator is None:
        return None
    return statistics.median(one / other for one, other in zip(numerator.rounds, denominator.rounds, strict=True))


@dataclass
class Record:
    """The figures of one measurement by name. `labels` say what was measured."""

    labels: dict[str, Label]
    figures: dict[str, Figure] = field(default_factory=dict)

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
