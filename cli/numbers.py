"""Numbers on the command line.

Invariants: a text that cannot be used is repeated as the user wrote it, together with what is expected. Digits are
those of ASCII, without anything between them; nan and infinity are no numbers here.
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


def port_number(text: str) -> int | None:
    """The port that `text` names; None if it is none that a client can connect to."""
    return int(text) if _PORT.fullmatch(text) and 0 < int(text) <= GREATEST_PORT else None


def whole_number(text: str) -> int | None:
    """The number that `text` is; None if it is none, or has more digits than anybody needs."""
    return int(text) if _WHOLE.fullmatch(text) else None


class WholeNumber(click.IntRange):
    """A whole number; both bounds are allowed values, None: no bound."""

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
        """For the help; without a bound there is nothing to say."""
        return "" if self.min is None and self.max is None else super()._describe_range()


class Number(click.FloatRange):
    """A number, with a decimal point or without; None: no bound."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number. Raises BadParameter."""
        number = math.nan
        if not isinstance(value, str) or (value.isascii() and "_" not in value):
            with suppress(ValueError, OverflowError):
                number = float(value)
        if not (math.isfinite(number) and self._is_within(number)):
            self.fail(f"'{value}' cannot be used, expected a number{_bounds(self)}", param, ctx)
        return number

    def _is_within(self, number: float) -> bool:
        is_above = self.min is None or (number > self.min if self.min_open else number >= self.min)
        is_below = self.max is None or (number < self.max if self.max_open else number <= self.max)
        return is_above and is_below


def _bounds(kind: click.IntRange | click.FloatRange) -> str:
    """What the message says about the bounds, with a blank before it; empty if there are none."""
    low, high = kind.min, kind.max
    if low is not None and high is not None and not kind.min_open and not kind.max_open:
        return f" from {low} to {high}"
    words = []
    if low is not None:
        words.append(f"above {low}" if kind.min_open else f"not below {low}")
    if high is not None:
        words.append(f"below {high}" if kind.max_open else f"up to {high}")
    return "".join(f" {each}" for each in [" and ".join(words)] if each)
