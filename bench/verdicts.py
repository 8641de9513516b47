"""How the server says that games ended, and which of that is wrong.

Law: every scripted move is legal and in time, so whatever is not REGULAR is false; but for LEFT in a game that the
driver itself has cut off.
"""

from __future__ import annotations

import json
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Verdicts:
    """Counts of games."""

    games: int
    """So many the server told the end of."""
    false: int


def read_verdicts(path: Path, cut_off: AbstractSet[str]) -> Verdicts:
    """What is in a results file; `cut_off`: rooms of the games that the driver left. No file: no games."""
    if not path.exists():
        return Verdicts(0, 0)
    games = false = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        right = {"REGULAR", "LEFT"} if told["room"] in cut_off else {"REGULAR"}
        games += 1
        false += not right.issuperset(told["causes"])
    return Verdicts(games, false)
