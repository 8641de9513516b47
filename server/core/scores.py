"""Test mode: what each player has earned in the games that an administrator wanted counted.

Law: sums and averages are those of the official release, to the digit: a SUM grows; an AVERAGE is the old one times
(n - 1) / n plus the new value / n, both quotients rounded half up to six decimals, the sum to eight digits. Games
between two players of the same name do not count, nor does a game whose score has other parts than the player's line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal

from spielleiter.protocol.messages import Aggregation, Fragment, PlayerScore, Result

_QUOTIENT = Decimal("0.000001")
_EIGHT_DIGITS = Context(prec=8, rounding=ROUND_HALF_UP)


def _divide(dividend: int, divisor: int) -> Decimal:
    return (Decimal(dividend) / divisor).quantize(_QUOTIENT, rounding=ROUND_HALF_UP)


@dataclass(slots=True)
class _Line:
    """One player's games: how many, and the value of each part."""

    number_of_tests: int = 0
    values: tuple[tuple[Fragment, Decimal], ...] = field(default=())

    def fits(self, definition: tuple[Fragment, ...]) -> bool:
        """Whether games scored so can be added here: to an empty line, or to others of this kind."""
        return not self.values or tuple(fragment for fragment, _ in self.values) == definition

    def add(self, definition: tuple[Fragment, ...], parts: tuple[int, ...]) -> None:
        before = [value for _, value in self.values] or [Decimal(0)] * len(definition)
        self.number_of_tests += 1
        self.values = tuple(
            (fragment, self._combine(fragment.aggregation, value, part))
            for fragment, value, part in zip(definition, before, parts, strict=True)
        )

    def _combine(self, aggregation: Aggregation, value: Decimal, part: int) -> Decimal:
        if aggregation is Aggregation.SUM:
            return value + part
        n = self.number_of_tests
        return _EIGHT_DIGITS.plus(value * _divide(n - 1, n) + _divide(part, n))


class ScoreSheet:
    """Finished games by display name; `is_enabled` says whether new ones are entered."""

    __slots__ = ("_lines", "is_enabled")

    def __init__(self, *, is_enabled: bool = False) -> None:
        self.is_enabled = is_enabled
        self._lines: dict[str, _Line] = {}

    def add(self, result: Result) -> None:
        """Enter one game; does nothing while test mode is off."""
        if not self.is_enabled or result.names[0] == result.names[1]:
            return
        for name, score in zip(result.names, result.scores, strict=True):
            line = self._lines.setdefault(name, _Line())
            if line.fits(result.definition):
                line.add(result.definition, score.parts)

    def of(self, display_name: str) -> PlayerScore | None:
        """The line of this player, or None if no game of it was entered."""
        line = self._lines.get(display_name)
        return None if line is None else PlayerScore(display_name, line.number_of_tests, line.values)
