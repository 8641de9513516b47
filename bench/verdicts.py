"""Counting the verdicts of the server that are wrong.

Invariants: every scripted move is legal and in time, so every cause except REGULAR is wrong. The only exception is LEFT
in a game that the driver itself has aborted.
"""

from __future__ import annotations

import json
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Verdicts:
    """The numbers of games with a verdict, and with a wrong one."""

    games: int
    """The games whose end the server has reported."""
    false: int
    """Those of them with a wrong cause."""


def read_verdicts(path: Path, cut_off: AbstractSet[str]) -> Verdicts:
    """Count the verdicts in the results file `path`; a missing file has none.

    `cut_off` are the rooms of the games that the driver has aborted.
    """
    if not path.exists():
        return Verdicts(0, 0)
    games = false = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        result = json.loads(line)
        right = {"REGULAR", "LEFT"} if result["room"] in cut_off else {"REGULAR"}
        games += 1
        false += not right.issuperset(result["causes"])
    return Verdicts(games, false)
