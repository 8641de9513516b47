"""A game as an observer sees it: its events, in order, until it is over.

Invariants: no event is lost, however late it is taken. An observation ends once, because the game is over or because
the connection is, and its reader can tell which.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import trio

from spielleiter.client.errors import ClientError
from spielleiter.protocol.messages import ErrorMessage, Memento, Paused, Result

ObserverEvent: TypeAlias = Memento | Result | ErrorMessage | Paused
"""What an observer is told about a game."""


class Observation:
    """The events of one game, in order: Memento (a position), Result, ErrorMessage or Paused.

    `AdminClient.observe` makes one. `async for` ends when the game is over and raises ClientError if the connection
    ends first. Events that nobody has taken yet are kept: a game has a few hundred at most. `room_id` is the room that
    is watched.
    """

    def __init__(self, room_id: str, lose: Callable[[], ClientError]) -> None:
        """`lose` gives the error for a connection that ended while the room `room_id` was watched."""
        self.room_id = room_id
        self._lose = lose
        self._is_over = False
        self._send, self._receive = trio.open_memory_channel[ObserverEvent](math.inf)

    def __aiter__(self) -> Observation:
        return self

    async def __anext__(self) -> ObserverEvent:
        try:
            return await self._receive.receive()
        except trio.EndOfChannel:
            if self._is_over:
                raise StopAsyncIteration from None
            raise self._lose() from None


class Feed(Observation):
    """An observation as the client sees it."""

    def put_nowait(self, event: ObserverEvent) -> None:
        self._send.send_nowait(event)

    def end(self, *, is_over: bool) -> None:
        """No more events will come, because the game is over or because the connection is."""
        self._is_over = is_over
        self._send.close()
