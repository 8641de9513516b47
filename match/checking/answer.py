"""The answer of a program to a move request."""

from __future__ import annotations

from dataclasses import dataclass

from spielleiter.match.checking.errors import too_slow
from spielleiter.protocol.messages import MoveData, UnreadableData


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a move request, which came after `seconds`.

    `data` is None if the answer cannot be parsed at all; `problem` says what is wrong with it. `seconds_lost` is the
    part of `seconds` for which the program or this process waited for a processor.
    """

    data: MoveData | UnreadableData | None
    seconds: float
    problem: str = ""
    seconds_lost: float = 0.0

    def require_within(self, limit: float) -> None:
        """Raise InconclusiveError or UnexpectedBehaviourError if it came after more than `limit` seconds."""
        if self.seconds > limit:
            raise too_slow(f"the answer came after {self.seconds:.3f} s", self.seconds, self.seconds_lost, limit)
