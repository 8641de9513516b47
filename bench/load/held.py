"""The driver's games, all stopped at the same ply.

Run it as `python -m spielleiter.bench.load.held`; it reads and writes the same as the driver.

Law: nobody moves any more once everybody has come so far. What a server has then, it has for games in the middle, and
for nothing that happens.
"""

from __future__ import annotations

import sys

from spielleiter.bench.load.driver import Driver, Game, Seat
from spielleiter.bench.load.plan import Plan


class HeldGame(Game):
    __slots__ = ()

    def answer(self, seat: Seat) -> None:
        held = self.driver
        assert isinstance(held, Held)
        if self.ply == held.plan.hold_ply:
            held.held_count += 1
        else:
            super().answer(seat)


class Held(Driver):
    """A driver whose games stop before the move at `plan.hold_ply`."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, HeldGame)
        self.held_count = 0

    def begin(self) -> None:
        self.games = [HeldGame(self, number) for number in range(self.plan.games)]
        while self.held_count < self.plan.games:
            self.play()


def main() -> None:
    Held(Plan.from_json(sys.stdin.readline())).obey()


if __name__ == "__main__":
    main()
