"""A driver whose players think before they move.

Run it as `python -m spielleiter.bench.load.paced`; it reads and writes the same as the driver.

Invariants: the same number of moves is due with a slow server as with a fast one, so that waiting games do not hide the
latency. The think times are drawn from a seeded generator, around the `pace` of the plan.
"""

from __future__ import annotations

import heapq
import random
import sys
from collections.abc import Callable
from time import perf_counter

from spielleiter.bench.load.driver import PATIENCE, Driver, Game, Seat
from spielleiter.bench.load.plan import Plan


class PacedGame(Game):
    """A game whose moves are sent when their player has thought."""

    __slots__ = ()

    def answer(self, seat: Seat) -> None:
        paced = self.driver
        assert isinstance(paced, Paced)
        assert paced.plan.pace is not None
        paced.schedule(perf_counter() + paced.rng.uniform(0.5, 1.5) * paced.plan.pace, self, seat)

    def send_move(self, seat: Seat) -> None:
        """Send the move of `seat`, unless the game has ended while its player was thinking."""
        if seat in self.seats:
            super().answer(seat)


class Paced(Driver):
    """Plays games whose players think for about `plan.pace` seconds."""

    def __init__(self, plan: Plan, make_game: Callable[[Driver, int], Game] = PacedGame) -> None:
        super().__init__(plan, make_game)
        self.rng = random.Random(1)
        self._timers: list[tuple[float, int, PacedGame, Seat]] = []
        self._timer_count = 0

    def schedule(self, instant: float, game: PacedGame, seat: Seat) -> None:
        """Have the move of `seat` sent at `instant` of `time.perf_counter`."""
        self._timer_count += 1
        heapq.heappush(self._timers, (instant, self._timer_count, game, seat))

    def play(self, patience: float = PATIENCE) -> None:
        if not self._timers:
            super().play(patience)
            return
        self.poll(max(0.0, min(patience, self._timers[0][0] - perf_counter())))
        self.send_due()

    def send_due(self) -> None:
        """Send the moves that are due."""
        now = perf_counter()
        while self._timers and self._timers[0][0] <= now:
            _, _, game, seat = heapq.heappop(self._timers)
            game.send_move(seat)


def main() -> None:
    Paced(Plan.from_json(sys.stdin.readline())).run_commands()


if __name__ == "__main__":
    main()
