"""A driver whose games all stop at the same ply.

Run it as `python -m spielleiter.bench.load.held`; it reads and writes the same as the driver.

Invariants: when all games have reached that ply, there are no more moves. The memory of the server is then that of
games in the middle of play, while nothing happens in them.
"""

from __future__ import annotations

import sys

from spielleiter.bench.load.driver import Driver, Game, Seat
from spielleiter.bench.load.plan import Plan


class HeldGame(Game):
    """A game that stops before the move at `plan.hold_ply`."""

    __slots__ = ()

    def answer(self, seat: Seat) -> None:
        held = self.driver
        assert isinstance(held, Held)
        if self.ply == held.plan.hold_ply:
            held.held_count += 1
        else:
            super().answer(seat)


class Held(Driver):
    """Starts its games, and is ready when all of them have stopped."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, HeldGame)
        self.held_count = 0

    def begin(self) -> None:
        self.games = [HeldGame(self, number) for number in range(self.plan.games)]
        while self.held_count < self.plan.games:
            self.play()


def main() -> None:
    Held(Plan.from_json(sys.stdin.readline())).run_commands()


if __name__ == "__main__":
    main()
