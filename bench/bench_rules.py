"""How long the rules of Blokus take, in microseconds for each position of the oracle's games, and perft's speed.

python -m bench.bench_rules
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from game.blokus.move import SetMove, SkipMove
from game.blokus.state import BlokusState
from game.perft import perft
from tests.game.blokus.oracle import DATA, follow, parse_move, parse_position, read_games, read_perft
from tests.shared import SHARED

REPEATS = 5
Played = tuple[BlokusState, SetMove | SkipMove]


def read_positions(season: int) -> tuple[str, list[Played]]:
    """Every position of the random games, with the move that was played there."""
    path = (
        Path(DATA) / f"blokus{season}.jsonl.gz"
        if SHARED is None
        else SHARED / "oracle" / f"blokus{season}_games.jsonl.gz"
    )
    positions = [
        (state, parse_move(line["move"]))
        for lines in read_games(path).values()
        for line, state in follow(season, lines)
        if "move" in line
    ]
    return path.name, positions


def best_of(repeats: int, run: Callable[[], object]) -> float:
    """Seconds of this process in the quickest of so many runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def measure(what: str, positions: Sequence[Played], act: Callable[[BlokusState, SetMove | SkipMove], object]) -> None:
    def run() -> None:
        for state, move in positions:
            act(state, move)

    print(f"  {what:42} {best_of(REPEATS, run) / len(positions) * 1e6:8.2f} µs")


def bench_positions(season: int) -> None:
    name, positions = read_positions(season)
    middle = [(state, move) for state, move in positions if 12 <= state.turn < 48]
    for title, chosen in (("all", positions), ("turns 12 to 47", middle)):
        legal = sum(state.count_legal_moves() for state, _ in chosen) / len(chosen)
        print(f"{name}, {title}: {len(chosen)} positions, {legal:.0f} legal placements each")
        measure("all legal placements (count_legal_moves)", chosen, lambda state, _: state.count_legal_moves())
        measure("the same as SetMove objects", chosen, lambda state, _: list(state.generate_legal_moves()))
        measure("has_legal_move", chosen, lambda state, _: state.has_legal_move())
        measure("check of the move played", chosen, lambda state, move: state.check(move))
        measure("play of the move played", chosen, lambda state, move: state.play(move))
        measure("outcome", chosen, lambda state, _: state.outcome())


def bench_perft() -> None:
    print("perft")
    depths = {"2021-init-PENTO_L": 5, "2027-init-PENTO_T": 3, "2021-shared-3": 2, "2021-shared-6": 3}
    for line in read_perft():
        if depth := depths.get(line["id"]):
            state, nodes = parse_position(line["season"], line["position"]), line["perft"][depth - 1]
            seconds = best_of(1, partial(perft, state, depth))
            speed = nodes / seconds / 1e6
            print(f"  {line['id']:20} depth {depth}: {nodes:>10} in {seconds:6.2f} s, {speed:6.2f} million/s")


if __name__ == "__main__":
    print(f"Python {sys.version.split()[0]}, best of {REPEATS}")
    for each in (2021, 2027):
        bench_positions(each)
    bench_perft()
