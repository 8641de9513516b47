"""Lets the driver's games begin while others are played already.

Invariants: games are let through in the order in which they came, and no more than so many moves are on the way.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Protocol


class Game(Protocol):
    """A game whose moves go through the gate; of its seats, the gate only asks whether they are the present ones."""

    @property
    def seats(self) -> tuple[Any, ...]: ...

    def answer(self, seat: Any) -> None:
        """Send the move that is due for `seat`."""
        ...


class Gate:
    """Lets few moves at a time through while games are begun, in the order of coming.

    A server that is busy with moves lets players in more slowly than games end; so the games that are begun would never
    all be played at once.
    """

    __slots__ = ("_on_the_way", "_waiting")

    def __init__(self) -> None:
        self._waiting: deque[tuple[Game, Any]] = deque()
        self._on_the_way: set[Game] = set()

    def arrive(self, game: Game, seat: Any) -> None:
        """A move of this game is due."""
        self._on_the_way.discard(game)
        self._waiting.append((game, seat))

    def forget(self, game: Game) -> None:
        """It is over."""
        self._on_the_way.discard(game)

    def let_through(self, most: int) -> None:
        """Send what waits, as long as no more than `most` moves are on the way."""
        while self._waiting and len(self._on_the_way) < most:
            game, seat = self._waiting.popleft()
            if seat in game.seats:
                self._on_the_way.add(game)
                game.answer(seat)
