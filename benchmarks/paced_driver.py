"""A driver (bench/driver.py) whose players think before they move, and whose games are played to their end.

The same number of moves is due with a slow server as with a fast one, so that waiting games do not hide the latency. It
is run as a file by `running_drivers`, and reads and writes the same as the driver.
"""

from __future__ import annotations

import heapq
import random
from time import perf_counter
from typing import Any, Final

from spielleiter.bench.driver import HANG_SECONDS, Driver, Plan, ScriptedGame, Seat, main

PACE: Final = 0.1  # seconds that a player thinks on average


class PacedGame(ScriptedGame):
    """A game whose moves are sent when their player has thought."""

    def answer(self, seat: Seat) -> None:
        assert isinstance(self.driver, PacedDriver)
        self.driver.schedule(self, seat)

    def send_move(self, seat: Seat) -> None:
        """Send the move of `seat`, unless the game has ended while its player was thinking."""
        if seat in self.seats:
            super().answer(seat)


class PacedDriver(Driver):
    """Plays games whose players think for about PACE seconds; the same times in every run."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, PacedGame)
        self._rng = random.Random(1)
        self._timers: list[tuple[float, int, PacedGame, Seat]] = []
        self._timer_count = 0

    def schedule(self, game: PacedGame, seat: Seat) -> None:
        """Have the move of `seat` sent when it has thought."""
        self._timer_count += 1
        due_at = perf_counter() + self._rng.uniform(0.5, 1.5) * PACE
        heapq.heappush(self._timers, (due_at, self._timer_count, game, seat))

    def begin(self) -> None:
        self.games = [self.make_game(self, number) for number in range(self.plan.games)]
        while not self.is_complete:
            self.play()

    def play(self, timeout: float = HANG_SECONDS) -> None:
        if not self._timers:
            super().play(timeout)
            return
        self.poll(max(0.0, min(timeout, self._timers[0][0] - perf_counter())))
        now = perf_counter()
        while self._timers and self._timers[0][0] <= now:
            _, _, game, seat = heapq.heappop(self._timers)
            game.send_move(seat)

    def finish(self) -> dict[str, Any]:
        self.is_ending = True
        while self.games:
            self.play()
        return super().finish()


if __name__ == "__main__":
    main(PacedDriver)
