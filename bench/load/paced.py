"""The driver's games with players that think.

Run it as `python -m spielleiter.bench.load.paced`; it reads and writes the same as the driver.

Law: as many moves are due with a slow server as with a fast one, so that latency is not hidden by games that wait. How
long each player thinks is drawn from a seed, around the `pace` that is asked for.
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
    __slots__ = ()

    def answer(self, seat: Seat) -> None:
        paced = self.driver
        assert isinstance(paced, Paced)
        assert paced.plan.pace is not None
        paced.later(perf_counter() + paced.rng.uniform(0.5, 1.5) * paced.plan.pace, self, seat)

    def send_move(self, seat: Seat) -> None:
        """The player has thought; the game may be over by then."""
        if seat in self.seats:
            super().answer(seat)


class Paced(Driver):
    """A driver whose players think for about `plan.pace` seconds."""

    def __init__(self, plan: Plan, make_game: Callable[[Driver, int], Game] = PacedGame) -> None:
        super().__init__(plan, make_game)
        self.rng = random.Random(1)
        self._timers: list[tuple[float, int, PacedGame, Seat]] = []
        self._timer_count = 0

    def later(self, instant: float, game: PacedGame, seat: Seat) -> None:
        """At `instant` of `time.perf_counter` this player will have thought."""
        self._timer_count += 1
        heapq.heappush(self._timers, (instant, self._timer_count, game, seat))

    def play(self, patience: float = PATIENCE) -> None:
        if not self._timers:
            super().play(patience)
            return
        self.turn(max(0.0, min(patience, self._timers[0][0] - perf_counter())))
        self.send_due()

    def send_due(self) -> None:
        """The moves of those who have thought long enough."""
        now = perf_counter()
        while self._timers and self._timers[0][0] <= now:
            _, _, game, seat = heapq.heappop(self._timers)
            game.send_move(seat)


def main() -> None:
    Paced(Plan.from_json(sys.stdin.readline())).obey()


if __name__ == "__main__":
    main()
