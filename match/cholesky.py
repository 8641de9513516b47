"""The Cholesky decomposition of the information matrices of ratings.

A matrix is stored as the rows of its lower triangle, each from its first entry on (A. George and J. W. H. Liu (1981),
Computer solution of large sparse positive definite systems, chapter 4). The decomposition has the same rows, so it
takes less time if rows are short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

Row: TypeAlias = tuple[int, list[float]]
"""The column of the first entry, and the entries up to the diagonal."""


class Cholesky:
    """The decomposition L L^T of a positive definite matrix."""

    def __init__(self, matrix: Sequence[Row]) -> None:
        self._rows: list[Row] = []
        for index, (begin, row) in enumerate(matrix):
            own: list[float] = []
            for column in range(begin, index):
                other_begin, other = self._rows[column]
                if other_begin <= begin:
                    products = map(float.__mul__, own, other[begin - other_begin :])
                else:
                    products = map(float.__mul__, own[other_begin - begin :], other)
                own.append((row[column - begin] - sum(products)) / other[-1])
            own.append(math.sqrt(max(row[-1] - sum(map(float.__mul__, own, own)), 1e-300)))
            self._rows.append((begin, own))

    def solve(self, right: Sequence[float]) -> list[float]:
        """Return x with L L^T x = `right`."""
        values = self._forward(list(right), 0)
        for index in range(len(values) - 1, -1, -1):
            begin, row = self._rows[index]
            value = values[index] = values[index] / row[-1]
            values[begin:index] = [each - value * entry for each, entry in zip(values[begin:index], row, strict=False)]
        return values

    def diagonal_of_inverse(self, index: int) -> float:
        """Return the entry of the inverse matrix in row and column `index`."""
        unit = [0.0] * len(self._rows)
        unit[index] = 1.0
        values = self._forward(unit, index)
        return sum(map(float.__mul__, values, values))

    def _forward(self, values: list[float], first: int) -> list[float]:
        """Replace `values`, which are 0 before `first`, by x with L x = `values`."""
        for index in range(first, len(values)):
            begin, row = self._rows[index]
            rest = sum(map(float.__mul__, row, values[begin:index]))
            values[index] = (values[index] - rest) / row[-1]
        return values
