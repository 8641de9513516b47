"""Invented records of games, for tests of statistics and reports."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

from spielleiter.match.records import GameRecord
from spielleiter.match.verdict import Verdict

NAMES = ("greedy", "random")


def game(number: int = 1, winner: int | None = 0, **changes: Any) -> GameRecord:
    """Return a record of game `number`, the first one of a pair if it is odd; there, program 0 has seat 0."""
    first = (number - 1) % 2
    record = GameRecord(
        game=number,
        pair=(number + 1) // 2,
        game_type="swc_2021_blokus",
        seed=(number + 1) // 2,
        start="PENTO_V",
        seats=(first, 1 - first),
        names=NAMES,
        verdict=Verdict.REGULAR,
        offender=None,
        reason="the rules' end",
        winner=winner,
        is_counted=True,
        points=(80, 60) if winner == 0 else (60, 80) if winner == 1 else (70, 70),
        causes=("REGULAR", "REGULAR"),
        plies=4,
        think_times=((0.1, 0.2), (0.01, 0.03)),
        cpu_seconds=(0.27, 0.02),
        wall_seconds=0.5,
        started_at=f"2021-03-04T05:06:{number % 60:02}.000000+00:00",
        folder=f"games/{number:05}",
        replay="replay.xml.gz",
    )
    return dataclasses.replace(record, **changes)


def fault(number: int, offender: int, verdict: str, **changes: Any) -> GameRecord:
    """Return a record of a game that `offender` lost by a fault."""
    points: tuple[int | None, int | None] = (None, None)
    return game(number, 1 - offender, offender=offender, verdict=verdict, points=points, **changes)


def absence(number: int, offender: int, verdict: str = Verdict.NO_START, **changes: Any) -> GameRecord:
    """Return a record of a game that `offender` lost before it began."""
    begun = {"plies": 0, "causes": ("", ""), "think_times": ((), ())}
    return fault(number, offender, verdict, **{**begun, **changes})


def whole_match(pairs: int = 20, seed: int = 1) -> list[GameRecord]:
    """Return the records of a varied match, the same ones for the same seed."""
    rng = random.Random(seed)
    records = []
    for number in range(1, 2 * pairs + 1):
        own, other = rng.randrange(60, 109), rng.randrange(40, 89)
        records.append(
            game(
                number,
                0 if own > other else 1 if own < other else None,
                points=(own, other),
                start=("PENTO_V", "TETRO_O", "TRIO_L")[(number - 1) // 2 % 3],
                think_times=(
                    tuple(rng.expovariate(5) for _ in range(20)),
                    tuple(rng.expovariate(50) for _ in range(20)),
                ),
                cpu_seconds=(rng.uniform(3, 4), rng.uniform(0.2, 0.4)),
                wall_seconds=rng.uniform(4, 6),
            )
        )
    return records
