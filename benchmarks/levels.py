"""The levels of a game: the processor time of each move, and whether all moves are legal.

Run it as `python -m benchmarks.levels`; `--help` lists the options.

All levels choose a move in the same positions, which come from games between players of the lowest level
and depend only on the seed. Times are processor times, so they do not depend on what else the machine does. The exit
code is 1 if a move was illegal.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from spielleiter.common.quantile import nearest_rank
from spielleiter.game.api import Game, State
from spielleiter.players.choosers import ladder_of, level_name
from spielleiter.players.search_budget import LadderLevel
from spielleiter.server.editions import EDITIONS

_HEADINGS = ("level", "positions", "illegal", "median ms", "p99 ms", "maximum ms")
_WIDTHS = (10, 10, 8, 10, 8, 10)


@dataclass(slots=True)
class LevelFigures:
    """The moves of one level: how many were illegal, and the processor time of each in seconds."""

    illegal: int = 0
    seconds: list[float] = field(default_factory=list)

    def row(self) -> list[str]:
        """Return the cells of the table: positions, illegal moves, and the median, 99th percentile and maximum time."""
        ordered = sorted(self.seconds)
        times = [f"{1000 * nearest_rank(ordered, share):.1f}" for share in (0.5, 0.99, 1.0)]
        return [str(len(ordered)), str(self.illegal), *times]


def positions(game: Game, count: int, seed: int) -> Iterator[State]:
    """Yield `count` positions in which a move is requested, one game after the other."""
    rng = random.Random(seed)
    while True:
        state = game.new_state(rng)
        while state.outcome() is None:
            if count == 0:
                return
            count -= 1
            yield state
            state = state.play(ladder_of(state)[0].choose(state, rng))


def measure_level(level: LadderLevel, states: Sequence[State], seed: int) -> LevelFigures:
    """Return the figures of `level` for one move in each of `states`."""
    figures, rng = LevelFigures(), random.Random(seed)
    for state in states:
        started = time.process_time()
        move = level.choose(state, rng)
        figures.seconds.append(time.process_time() - started)
        figures.illegal += state.check(move) is not None
    return figures


def print_row(cells: Sequence[str], widths: Sequence[int]) -> None:
    """Print a row of a table at once; each cell is aligned to the right in a column of its width."""
    print(" ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)), flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table for each edition; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.levels",
        description="Let the levels of a game choose moves; print their processor times and count illegal moves.",
    )
    parser.add_argument("-n", "--positions", type=int, default=500, help="positions for each level (default: 500)")
    parser.add_argument("--seed", type=int, default=1, help="of the positions and of the noise (default: 1)")
    parser.add_argument(
        "--level",
        type=int,
        action="append",
        help="the number of a level; without this option all that do not take the time they are given",
    )
    parser.add_argument(
        "--edition",
        action="append",
        choices=list(EDITIONS),
        help="an edition of a game (default: blokus-2021-r3 and blokus-2027)",
    )
    options = parser.parse_args(arguments)
    if options.positions < 1:
        parser.error("-n: expected at least 1 position")
    illegal = 0
    for name in options.edition or ["blokus-2021-r3", "blokus-2027"]:
        game = EDITIONS[name].game
        levels = dict(enumerate(ladder_of(game.new_state(random.Random(1))), start=1))
        if not levels or any(number not in levels for number in options.level or ()):
            parser.error(f"{name} has {len(levels)} levels")
        states = list(positions(game, options.positions, options.seed))
        print(name)
        print_row(_HEADINGS, _WIDTHS)
        for number in options.level or [number for number, level in levels.items() if not level.takes_time]:
            figures = measure_level(levels[number], states, options.seed)
            illegal += figures.illegal
            print_row([level_name(number), *figures.row()], _WIDTHS)
    return int(illegal > 0)


if __name__ == "__main__":
    sys.exit(main())
