"""What the programs of a running game think, from the moment that they say it, for those who watch the game.

It is found in what they write to their standard error, and told to the followers of the match's server. Nothing here
exists for a match that nobody watches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from spielleiter.game.api import Seat
from spielleiter.protocol.thinking import Thinking, ThinkingByRequest, ThinkingReader, request_of

Tell: TypeAlias = Callable[[int, Seat, Thinking], None]
"""Called with the number of a move, from 0, the seat whose program plays it, and all that it has said about it."""


class LiveThinking:
    """What the program in each seat of one game says about its moves; `tell` passes it on."""

    def __init__(self, tell: Tell) -> None:
        self._seats = _SeatThinking(0, tell), _SeatThinking(1, tell)

    def note_request(self, seat: Seat, ply: int, turn: int) -> None:
        """Note that the move number `ply`, from 0, is requested from `seat`, in the position of this `turn`."""
        self._seats[seat].note_request(ply, turn)

    def reader(self, seat: Seat) -> Callable[[bytes], None]:
        """Return the function that reads what the program in `seat` writes to its standard error, piece by piece."""
        said = self._seats[seat]
        said.lines = lines = ThinkingReader()

        def read(chunk: bytes) -> None:
            for thinking in lines.read(chunk):
                said.add(thinking)

        return read


class _SeatThinking:
    def __init__(self, seat: Seat, tell: Tell) -> None:
        self.lines = ThinkingReader()
        self._seat = seat
        self._tell = tell
        self._plies: list[int] = []
        """The numbers of the moves that were requested, and the turns of their positions."""
        self._turns: list[int] = []
        self._thoughts = ThinkingByRequest()
        """What is said before the first request belongs to it."""

    def note_request(self, ply: int, turn: int) -> None:
        self._plies.append(ply)
        self._turns.append(turn)
        self.lines.note_request()
        if len(self._plies) == 1 and 0 in self._thoughts.said:
            self._tell(ply, self._seat, self._thoughts.said[0])

    def add(self, thinking: Thinking) -> None:
        number = request_of(thinking, self._turns, max(0, len(self._turns) - 1))
        if self._thoughts.add(number, thinking) and self._plies:
            self._tell(self._plies[number], self._seat, self._thoughts.said[number])
