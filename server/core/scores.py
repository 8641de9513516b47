"""Test mode: the scores of each player in the games that were played while test mode was on.

Invariants: sums and averages equal those of the official release in every digit. A SUM is a plain sum. An AVERAGE is
the old one times (n - 1) / n plus the new value / n, with both quotients rounded half up to six decimals and the sum to
eight digits. Games between two players of the same name do not count. A name has a line for each score definition,
since clients of several seasons may use the same names.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

from msgspec import Struct, field

from spielleiter.protocol.messages import Aggregation, Fragment, PlayerScore, Result

_QUOTIENT = Decimal("0.000001")
_EIGHT_DIGITS = Context(prec=8, rounding=ROUND_HALF_UP)


def _divide(dividend: int, divisor: int) -> Decimal:
    return (Decimal(dividend) / divisor).quantize(_QUOTIENT, rounding=ROUND_HALF_UP)


class _Line(Struct):
    """The number of a player's games of one season, and the value of each part of their scores."""

    number_of_tests: int = 0
    values: tuple[tuple[Fragment, Decimal], ...] = field(default=())

    def add(self, definition: tuple[Fragment, ...], parts: tuple[int, ...]) -> None:
        before = [value for _, value in self.values] or [Decimal(0)] * len(definition)
        n = self.number_of_tests = self.number_of_tests + 1
        values = []
        for fragment, value, part in zip(definition, before, parts, strict=True):
            if fragment.aggregation is Aggregation.SUM:
                values.append((fragment, value + part))
            else:
                values.append((fragment, _EIGHT_DIGITS.plus(value * _divide(n - 1, n) + _divide(part, n))))
        self.values = tuple(values)


class ScoreSheet:
    """The lines of all players; `is_enabled`: whether new results are added."""

    __slots__ = ("_lines", "is_enabled")

    def __init__(self, *, is_enabled: bool = False) -> None:
        self.is_enabled = is_enabled
        self._lines: dict[str, dict[tuple[Fragment, ...], _Line]] = {}

    def add(self, result: Result) -> None:
        """Add one game; does nothing while test mode is off."""
        if not self.is_enabled or result.names[0] == result.names[1]:
            return
        for name, score in zip(result.names, result.scores, strict=True):
            line = self._lines.setdefault(name, {}).setdefault(result.definition, _Line())
            line.add(result.definition, score.parts)

    def of(self, display_name: str, definition: tuple[Fragment, ...]) -> PlayerScore | None:
        """Return the line of this player with this score definition; if there is none, another line of the player.

        Return None if the player has no game.
        """
        lines = self._lines.get(display_name)
        if lines is None:
            return None
        line = lines.get(definition) or next(iter(lines.values()))
        return PlayerScore(display_name, line.number_of_tests, line.values)
