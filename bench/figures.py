"""What was measured, as values: a figure is a unit and what each round gave, a record is what it was measured of.

Law: nothing is thrown away before the report: whoever reads a median finds the rounds it is the middle of.
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
        """With the words of the report."""
        known = [value if math.isfinite(value) else None for value in (self.median, self.least, self.most)]
        told: dict[str, Any] = {"unit": self.unit, **dict(zip(("median", "min", "max"), known, strict=True))}
        return {**told, "rounds": [value if math.isfinite(value) else None for value in self.rounds]}


def ratio_of(above: Figure | None, below: Figure | None) -> float | None:
    """The median of the ratios, round by round; None if either was not measured."""
    if above is None or below is None:
        return None
    return statistics.median(one / other for one, other in zip(above.rounds, below.rounds, strict=True))


@dataclass
class Record:
    """What was measured (by labels), and its figures by name."""

    labels: dict[str, Label]
    figures: dict[str, Figure] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {**self.labels, "figures": {name: figure.to_json() for name, figure in self.figures.items()}}


class Records:
    """Records by their labels; rounds are added as they come."""

    def __init__(self) -> None:
        self._records: dict[tuple[tuple[str, Label], ...], Record] = {}

    def add(self, labels: Mapping[str, Label], values: Mapping[str, tuple[float, str]]) -> None:
        """One round of what `labels` say: value and unit by name."""
        record = self._records.setdefault(tuple(labels.items()), Record(dict(labels)))
        for name, (value, unit) in values.items():
            known = record.figures.get(name, Figure(unit, ()))
            record.figures[name] = Figure(unit, (*known.rounds, value))

    def where(self, **labels: Label) -> list[Record]:
        """Those that have all of these labels, in the order they were first measured in."""
        return [
            record
            for record in self._records.values()
            if all(record.labels.get(key) == value for key, value in labels.items())
        ]

    def figure(self, name: str, **labels: Label) -> Figure | None:
        """Of the first such record that has it."""
        return next((record.figures[name] for record in self.where(**labels) if name in record.figures), None)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records.values())
