"""Measuring the rules: the time of each method of a position, over positions of all stages of the game, and of perft.

Invariants: the figures are the processor time of this process, so that other processes do not count. In each round,
each method is called once for every position.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice
from types import MappingProxyType
from typing import Final

from spielleiter.bench.figures import Label, Records
from spielleiter.bench.load.positions import Played, Positions, read_positions
from spielleiter.bench.load.scripts import game_of, play_game
from spielleiter.bench.options import Options
from spielleiter.game.perft import perft

PERFT_PLIES: Final = (10, 20, 30)  # of a scripted game: early, in the middle, late
PERFT_DEPTH: Final = 2

QUESTIONS: Final[Mapping[str, Callable[[Played], object]]] = MappingProxyType(
    {
        "count of legal moves": lambda played: played[0].count_legal_moves(),
        "list of legal moves": lambda played: list(played[0].generate_legal_moves()),
        "has_legal_move": lambda played: played[0].has_legal_move(),
        "check": lambda played: played[0].check(played[1]),
        "play": lambda played: played[0].play(played[1]),
        "outcome": lambda played: played[0].outcome(),
    }
)


@cache
def _positions(edition: str) -> Positions:
    return read_positions(edition)


def measure_rules(options: Options, records: Records) -> Iterator[str]:
    """Measure the rules; for the yielded texts see `spielleiter.bench.run.Part`."""
    for edition in options.editions:
        yield f"rules, {edition}"
        positions = _positions(edition)
        labels: dict[str, Label] = {"part": "rules", "edition": edition}
        labels |= {"positions": len(positions.played), "source": positions.source}
        values = {name: (1e6 * _seconds_each(question, positions), "us") for name, question in QUESTIONS.items()}
        records.add(labels, {**values, "perft": (_perft_speed(edition), "nodes/s")})


def _seconds_each(question: Callable[[Played], object], positions: Positions) -> float:
    start = time.process_time()
    for played in positions.played:
        question(played)
    return (time.process_time() - start) / len(positions.played)


def _perft_speed(edition: str) -> float:
    game = list(islice(play_game(game_of(edition), 1), PERFT_PLIES[-1] + 1))
    start = time.process_time()
    nodes = sum(perft(game[ply][0], PERFT_DEPTH) for ply in PERFT_PLIES)
    return nodes / (time.process_time() - start)
