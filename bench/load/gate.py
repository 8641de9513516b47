"""`Gate`: limits the number of moves in flight while the driver's games are started one after another.

Invariants: moves are released in the order in which they became due, and at most the given number are in flight.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Protocol


class Game(Protocol):
    """A game whose moves pass through the gate. The gate only tests whether a seat is one of the present `seats`."""

    @property
    def seats(self) -> tuple[Any, ...]: ...

    def answer(self, seat: Any) -> None:
        """Send the move that is due for `seat`."""
        ...


class Gate:
    """Releases a few moves at a time while games are being started, in the order in which they became due.

    A server that is busy with moves admits players more slowly than games end. Without a limit, the games that are
    being started would never all be in play at once.
    """

    __slots__ = ("_in_flight", "_waiting")

    def __init__(self) -> None:
        self._waiting: deque[tuple[Game, Any]] = deque()
        self._in_flight: set[Game] = set()

    def add(self, game: Game, seat: Any) -> None:
        """Queue a move of `game` that is due for `seat`; the previous move of the game is no longer in flight."""
        self._in_flight.discard(game)
        self._waiting.append((game, seat))

    def forget(self, game: Game) -> None:
        """Note that `game` is over, so that its last move is no longer in flight."""
        self._in_flight.discard(game)

    def release(self, most: int) -> None:
        """Have waiting moves sent, as long as fewer than `most` are in flight."""
        while self._waiting and len(self._in_flight) < most:
            game, seat = self._waiting.popleft()
            if seat in game.seats:
                self._in_flight.add(game)
                game.answer(seat)
