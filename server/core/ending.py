"""How a game ended: causes, reasons, the first part of each score, and the winners.

Invariants: all values are by seat. The first part of a score is 2 for a win, 1 for a draw and 0 for a loss; the others
are the points in the last position. Source: the sections Order and Faults of the edition's specification.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from spielleiter.game.api import Outcome, Seat, State
from spielleiter.protocol.messages import Cause, Fragment, Result, Score
from spielleiter.server.core.policy import CancelWinner

LOST: Final = 0
DRAWN: Final = 1
WON: Final = 2


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of one game."""

    causes: tuple[Cause, Cause]
    reasons: tuple[str, str]
    first_parts: tuple[int, int]
    winners: tuple[Seat, ...]
    """No seat, one, or both, which is a draw."""

    @classmethod
    def by_rules(cls, outcome: Outcome, reason: str = "") -> Ending:
        """Return the ending of a game that was played to its end; both players' scores get `reason`."""
        return cls.won_by((0, 1) if outcome.winner is None else (outcome.winner,), reason)

    @classmethod
    def won_by(cls, winners: tuple[Seat, ...], reason: str = "") -> Ending:
        """Return the ending of a game that one player has won, or that is drawn if both are `winners`."""
        firsts = (DRAWN, DRAWN) if len(winners) > 1 else (WON, LOST) if winners == (0,) else (LOST, WON)
        return cls((Cause.REGULAR, Cause.REGULAR), (reason, reason), firsts, winners)

    @classmethod
    def against(cls, seat: Seat, cause: Cause, reason: str, winners: tuple[Seat, ...]) -> Ending:
        """Return the ending of a game that the player of `seat` has lost by a fault, regardless of the points."""
        if seat == 0:
            return cls((cause, Cause.REGULAR), (reason, ""), (LOST, WON), winners)
        return cls((Cause.REGULAR, cause), ("", reason), (WON, LOST), winners)

    @classmethod
    def by_command(cls, winner: CancelWinner, state: State, seats: tuple[Seat, ...] = (0, 1)) -> Ending:
        """Return the ending of a game that an administrator cancelled in the position `state`.

        `winner` says whom the edition names as the winner in this case; `seats` are those of the players.
        """
        if winner is CancelWinner.BY_RULES:
            return cls.won_by(leaders(state))
        leading = tuple(seat for seat in leaders(state) if seat in seats)
        return cls.cancelled(leading if winner is CancelWinner.LEADER else ())

    @classmethod
    def cancelled(cls, winners: tuple[Seat, ...]) -> Ending:
        """Return the ending of a cancelled game: both players score a loss; `winners` are only named in the result."""
        return cls((Cause.REGULAR, Cause.REGULAR), ("", ""), (LOST, LOST), winners)

    @classmethod
    def by_faults(cls, faults: Mapping[Seat, tuple[Cause, str]], seats: tuple[Seat, ...] = (0, 1)) -> Ending:
        """Return the ending of a game of the players of `seats` that has not started, because of `faults` by seat.

        A fault is its cause and the reason. The player without a fault has won, if there is one.
        """
        winners = tuple(seat for seat in seats if seat not in faults)
        first, second = (WON if seat in winners else LOST for seat in (0, 1))
        one, two = (faults.get(seat, (Cause.REGULAR, "")) for seat in (0, 1))
        return cls((one[0], two[0]), (one[1], two[1]), (first, second), winners)

    def points(self, state: State, *, zeroes_offenders: bool) -> tuple[tuple[int, ...], ...]:
        """Return the points by seat: those of `state`, or zeros for a player at fault if `zeroes_offenders`."""
        return tuple(
            tuple(0 for _ in state.points(seat))
            if zeroes_offenders and self.causes[seat] is not Cause.REGULAR
            else state.points(seat)
            for seat in (0, 1)
        )

    def result(
        self,
        definition: tuple[Fragment, ...],
        points: tuple[tuple[int, ...], ...],
        names: tuple[str, str],
        details: tuple[object, object] = (None, None),
        seats: tuple[Seat, ...] = (0, 1),
    ) -> Result:
        """Return the result packet, with the scores of the players of `seats`.

        `points`, by seat, are the parts of the score after the first; for `details` see `Result`.
        """
        scores = tuple(
            Score(self.causes[seat], self.reasons[seat], (self.first_parts[seat], *points[seat])) for seat in seats
        )
        return Result(definition, scores, self.winners, names, details)


def leaders(state: State) -> tuple[Seat, ...]:
    """Return the seat with more points in this position, or both seats if the points are equal."""
    first, second = state.points(0), state.points(1)
    return (0, 1) if first == second else (0,) if first > second else (1,)
