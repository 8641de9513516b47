"""The events of a game as an observer receives them.

Invariants: no event is lost, no matter how late it is read. An observation ends once, either because the game is over
or because the connection has ended, and its reader can tell which.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import trio

from spielleiter.client.errors import ClientError
from spielleiter.protocol.messages import ErrorMessage, Memento, Paused, Result

ObserverEvent: TypeAlias = Memento | Result | ErrorMessage | Paused
"""An event of an observed game."""


class Observation:
    """The events of one game in order, for an `async for` loop: Memento (a position), Result, ErrorMessage or Paused.

    `AdminClient.observe` returns one. The loop ends when the game is over, and raises ClientError if the connection
    ends first. Events are kept until they are read; a game has a few hundred of them at most. `room_id` is the room
    that is observed.

        async for event in await admin.observe(room.room_id):
            if isinstance(event, Result):
                print(event.winners)
    """

    def __init__(self, room_id: str, connection_error: Callable[[], ClientError]) -> None:
        """Observe the room `room_id`; `connection_error` gives the error to raise if the connection ends first."""
        self.room_id = room_id
        self._connection_error = connection_error
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
            raise self._connection_error() from None


class Feed(Observation):
    """The side of an observation that the client writes to."""

    def put_nowait(self, event: ObserverEvent) -> None:
        """Add an event; the number of unread events is not limited."""
        self._send.send_nowait(event)

    def end(self, *, is_over: bool) -> None:
        """End the observation: the game is over if `is_over`, otherwise the connection has ended."""
        self._is_over = is_over
        self._send.close()
