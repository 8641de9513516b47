"""Numbers on the command line.

Invariants: an error repeats the text as the user wrote it, and says what is expected. Only ASCII digits are accepted,
without separators; nan and infinity are not.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from typing import Any, Final

import click

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,4000}", re.ASCII)  # Python reads no more than 4300 digits
_PORT: Final = re.compile("[0-9]{1,5}", re.ASCII)
GREATEST_PORT: Final = 65535
_LARGEST_SHOWN: Final = 10_000_000
"""Bounds above this are technical limits, which the help does not show."""


def port_number(text: str) -> int | None:
    """The port number in `text`; None if it is not a port that a client can connect to."""
    return int(text) if _PORT.fullmatch(text) and 0 < int(text) <= GREATEST_PORT else None


def whole_number(text: str) -> int | None:
    """The whole number in `text`; None if it is not a number, or has more digits than Python reads."""
    return int(text) if _WHOLE.fullmatch(text) else None


class WholeNumber(click.IntRange):
    """A whole number. Both bounds are inclusive; None means that there is no bound."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number. Raises BadParameter."""
        if isinstance(value, str) and not _WHOLE.fullmatch(value):
            self.fail(self._refusal(value), param, ctx)
        number = int(value)
        if (self.min is not None and number < self.min) or (self.max is not None and number > self.max):
            self.fail(self._refusal(value), param, ctx)
        return number

    def _refusal(self, value: object) -> str:
        return f"'{value}' cannot be used, expected a whole number{_bounds(self)}"

    def _describe_range(self) -> str:
        """The range in the help; empty without bounds."""
        return _shown_range(self)


class Number(click.FloatRange):
    """A number, with or without a decimal point. A bound of None means that there is no bound."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number. Raises BadParameter."""
        number = math.nan
        if not isinstance(value, str) or (value.isascii() and "_" not in value):
            with suppress(ValueError, OverflowError):
                number = float(value)
        if not (math.isfinite(number) and self._is_within(number)):
            self.fail(f"'{value}' cannot be used, expected a number{_bounds(self)}", param, ctx)
        return number

    def _describe_range(self) -> str:
        """The range in the help; empty without bounds."""
        return _shown_range(self)

    def _is_within(self, number: float) -> bool:
        is_above = self.min is None or (number > self.min if self.min_open else number >= self.min)
        is_below = self.max is None or (number < self.max if self.max_open else number <= self.max)
        return is_above and is_below


def _bounds(kind: click.IntRange | click.FloatRange) -> str:
    """The bounds for an error message, with a leading space; empty if there are none."""
    low, high = kind.min, kind.max
    if low is not None and high is not None and not kind.min_open and not kind.max_open:
        return f" from {low} to {high}"
    words = []
    if low is not None:
        words.append(f"above {low}" if kind.min_open else f"not below {low}")
    if high is not None:
        words.append(f"below {high}" if kind.max_open else f"up to {high}")
    return "".join(f" {each}" for each in [" and ".join(words)] if each)


def _shown_range(kind: click.IntRange | click.FloatRange) -> str:
    """The range that the help shows, such as ``0<x<=5``; empty if there is none to show."""
    below, above = ("<" if is_open else "<=" for is_open in (kind.min_open, kind.max_open))
    low = None if kind.min is None else f"{kind.min}{below}x"
    high = None if kind.max is None or kind.max > _LARGEST_SHOWN else f"{above}{kind.max}"
    if high is None:
        return "" if low is None else f"x{'>' if kind.min_open else '>='}{kind.min}"
    return f"{low or 'x'}{high}"
