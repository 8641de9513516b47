"""Estimating how fast a core of this machine is, compared with the processor of the contest.

The contest's reference is one thread of a Xeon E5-2620 v4 (Broadwell) at 2.1 GHz. Three small tasks are timed here:
arithmetic with large numbers, sorting and a regular expression. Their main work happens in the interpreter's C code,
which changes little between versions of Python. `_REFERENCE_SECONDS` holds what they take on the reference: measured
with a cycle count on a newer processor of the same maker, and converted by the published ratio of work per cycle.

The factor is an estimate, and every text that uses it says so: it may be wrong by a quarter, and programs differ in
what they need most. Only processor time of this thread is measured, so a busy machine changes little.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Final

REPETITIONS: Final = 5
"""How often each task is timed; the fastest run counts."""
MIN_SPEED: Final = 0.05
MAX_SPEED: Final = 20.0

_REFERENCE_SECONDS: Final = {"power": 0.0147, "sort": 0.0260, "match": 0.0140}
_NUMBER: Final = (1 << 2048) - 1942289
_EXPONENT: Final = (1 << 700) - 1
_PATTERN: Final = re.compile(r"(?:[abc]+[def]+|g.h| +)+")


@dataclass(frozen=True, slots=True)
class Speed:
    """How many times as fast as the processor of the contest a core of this machine is."""

    factor: float
    is_measured: bool
    """Whether it was measured here; otherwise the user has given it."""

    @property
    def text(self) -> str:
        """The factor in a sentence."""
        source = "by a short measurement" if self.is_measured else "as given by --speed"
        times = f"{self.factor:.2g} times as fast as"
        return f"a core of this machine is estimated to be {times} that of the contest, {source}"


def measure_speed(clock: Callable[[], float] = time.thread_time) -> Speed:
    """Return the speed of this machine. Takes a few tenths of a second of processor time.

    `clock` returns the processor time of this thread in seconds.
    """
    rng = random.Random("calibration")
    values = rng.sample(range(1 << 30), 60_000)
    text = "".join(rng.choices("abcdefgh ", k=60_000))
    tasks: dict[str, Callable[[], object]] = {
        "power": lambda: pow(3, _EXPONENT, _NUMBER),
        "sort": lambda: sorted(values),
        "match": lambda: _PATTERN.findall(text),
    }
    ratios = []
    for name, task in tasks.items():
        times = []
        for _ in range(REPETITIONS):
            started = clock()
            task()
            times.append(clock() - started)
        ratios.append(_REFERENCE_SECONDS[name] / max(min(times), 1e-6))  # never 0, however coarse the clock is
    return Speed(min(MAX_SPEED, max(MIN_SPEED, geometric_mean(ratios))), is_measured=True)
