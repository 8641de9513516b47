"""Positions of Mississippi Queen, and the game that makes them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from spielleiter.game.api import (
    GameError,
    GameOverError,
    GameWithoutOptions,
    IllegalMoveError,
    Move,
    Outcome,
    Seat,
    State,
    own_move,
)
from spielleiter.game.mississippi_queen.river import Hex, River, Terrain, generate_river
from spielleiter.game.mississippi_queen.rules import (
    MIN_SPEED,
    LegalMoves,
    MississippiQueenMistake,
    MississippiQueenMove,
    Progress,
    Push,
    Ship,
    carry_out,
)

ROUND_LIMIT: Final = 30
SEGMENT_POINTS: Final = 5
PASSENGER_POINTS: Final = 5
PASSENGERS_FOR_GOAL: Final = 2
LONGEST_LEAD: Final = 3
"""The number of segments that a ship may be ahead while the game goes on."""

GOAL: Final = "goal"
"""The reason of an outcome: one ship has reached the goal."""
STUCK: Final = "stuck"
"""The reason of an outcome: one ship cannot move."""
FAR_AHEAD: Final = "far_ahead"
"""The reason of an outcome: one ship is too many segments ahead."""
POINTS: Final = "points"
PASSENGERS: Final = "passengers"
TIE: Final = "tie"

_START: Final = (Hex(-1, -1), Hex(-2, 1))


class MississippiQueenState(Struct, frozen=True):
    """A position; implements `spielleiter.game.api.State`.

    `ships` are in the order of the seats. Between two moves of the same player there may be none of the other one,
    since the ship that is ahead moves first in each round. `last_move` is None at the start, and when the player on
    turn was found to be stuck.
    """

    river: River
    ships: tuple[Ship, Ship] = (Ship(_START[0]), Ship(_START[1]))
    turn: int = 0
    seat_on_turn: Seat = 0
    last_move: MississippiQueenMove | None = None

    @property
    def round(self) -> int:
        """The number of the current round, from 1. It does not appear on the wire."""
        return 1 + self.turn // 2

    def check(self, move: Move) -> MississippiQueenMistake | None:
        """Return the first rule that `move` breaks, or None if it is legal.

        Raises GameOverError if the game is over, IncompleteMoveError for a move that lacks something that is needed
        before a mistake is found, and TypeError for a move of another game.
        """
        after = self._carry_out(own_move(move, MississippiQueenMove))
        return None if isinstance(after, Progress) else after

    def play(self, move: Move) -> MississippiQueenState:
        """Return the position after `move`; what is to be seen of the river grows with the way of the ship.

        Raises IllegalMoveError for a move that breaks a rule, and what `check` raises.
        """
        move = own_move(move, MississippiQueenMove)
        after = self._carry_out(move)
        if not isinstance(after, Progress):
            raise IllegalMoveError(after, move)
        river, ship = _with_passenger(self.river, after.ship)
        ship = replace(ship, points=way_points(river, ship) + PASSENGER_POINTS * ship.passengers, free_turns=1)
        other = after.other
        if any(isinstance(action, Push) for action in move.actions or ()):
            if other.speed == MIN_SPEED:
                river, other = _with_passenger(river, other)
            other = replace(other, points=way_points(river, other) + PASSENGER_POINTS * other.passengers)
        river = river.revealed(river.cells[ship.position].segment + 2)
        ships = (other, ship) if self.seat_on_turn else (ship, other)
        state = _next_turn(self, river, ships, move)
        if state.outcome() is not None or _legal_moves(state).exists():
            return state
        # the player on turn cannot move: its turn is skipped, and the game is over
        stuck = replace(state.ships[state.seat_on_turn], is_stuck=True, free_turns=1)
        ships = (state.ships[0], stuck) if state.seat_on_turn else (stuck, state.ships[1])
        return _next_turn(state, river, ships, None)

    def generate_legal_moves(self) -> Iterator[MississippiQueenMove]:
        """Yield every legal move once; nothing once the game is over. See `LegalMoves` for those that are left out."""
        return iter(()) if self._is_over() else iter(_legal_moves(self))

    def count_legal_moves(self) -> int:
        """Return the number of legal moves."""
        return 0 if self._is_over() else _legal_moves(self).count()

    def draw_legal_move(self, rng: random.Random) -> MississippiQueenMove | None:
        """Return any legal move, all equally likely; None once the game is over."""
        return None if self._is_over() else _legal_moves(self).draw(rng)

    def outcome(self) -> Outcome | None:
        """Return the outcome once the game is over, else None."""
        return self.standing() if self._is_over() else None

    def standing(self) -> Outcome:
        """Return who would have won, and why, if the game ended in this position."""
        in_goal = [seat for seat in (0, 1) if self._is_in_goal(seat)]
        if len(in_goal) == 1:
            return Outcome(in_goal[0], GOAL)
        stuck = [seat for seat in (0, 1) if self.ships[seat].is_stuck]
        if len(stuck) == 1:
            return Outcome(1 - stuck[0], STUCK)
        if abs(self._lead()) > LONGEST_LEAD:
            return Outcome(0 if self._lead() > 0 else 1, FAR_AHEAD)
        for index, reason in enumerate((POINTS, PASSENGERS)):
            first, second = self.points(0)[index], self.points(1)[index]
            if first != second:
                return Outcome(0 if first > second else 1, reason)
        return Outcome(None, TIE)

    def points(self, seat: Seat) -> tuple[int, ...]:
        """Return the two parts of the score of `seat`: its points, and its passengers; none if it is stuck."""
        ship = self.ships[seat]
        return (0, 0) if ship.is_stuck else (ship.points, ship.passengers)

    def as_seen(self) -> MississippiQueenState:
        """Return the position as players know it, without the part of the river that cannot be seen."""
        return replace(self, river=self.river.as_seen())

    def _carry_out(self, move: MississippiQueenMove) -> Progress | MississippiQueenMistake:
        if self._is_over():
            raise GameOverError(move)
        return carry_out(self.river, self.ships[self.seat_on_turn], self.ships[1 - self.seat_on_turn], move)

    def _is_over(self) -> bool:
        return (
            (self.turn % 2 == 0 and (self._is_in_goal(0) or self._is_in_goal(1)))
            or abs(self._lead()) > LONGEST_LEAD
            or self.turn >= 2 * ROUND_LIMIT
            or self.ships[0].is_stuck
            or self.ships[1].is_stuck
        )

    def _is_in_goal(self, seat: Seat) -> bool:
        ship = self.ships[seat]
        cell = self.river.cells[ship.position]
        return (
            cell.field is Terrain.GOAL
            and ship.passengers >= PASSENGERS_FOR_GOAL
            and effective_speed(self.river, ship) <= MIN_SPEED
        )

    def _lead(self) -> int:
        """Return by how many segments the first ship is ahead."""
        first, second = (self.river.cells[ship.position].segment for ship in self.ships)
        return first - second


def _legal_moves(state: MississippiQueenState) -> LegalMoves:
    return LegalMoves(state.river, state.ships[state.seat_on_turn], state.ships[1 - state.seat_on_turn])


def _next_turn(
    state: MississippiQueenState, river: River, ships: tuple[Ship, Ship], move: MississippiQueenMove | None
) -> MississippiQueenState:
    """Return the position after `state`; in a new round, the ship that is ahead moves first."""
    turn, seat = state.turn + 1, 1 - state.seat_on_turn
    if turn % 2 == 0:
        ahead = [100 * way_points(river, ship) + 10 * ship.speed + ship.coal for ship in ships]
        seat = 0 if ahead[0] >= ahead[1] else 1
    return MississippiQueenState(river, ships, turn, seat, move)


def way_points(river: River, ship: Ship) -> int:
    """Return the points for the way that the ship has come."""
    cell = river.cells[ship.position]
    return SEGMENT_POINTS * cell.segment + cell.column


def effective_speed(river: River, ship: Ship) -> int:
    """Return the speed of the ship against the banks."""
    return ship.speed - river.cells[ship.position].has_current


def _with_passenger(river: River, ship: Ship) -> tuple[River, Ship]:
    """Return both after a passenger has boarded the ship, if it is slow enough and one is there."""
    pier = river.pier_beside(ship.position) if effective_speed(river, ship) <= MIN_SPEED else None
    if pier is None:
        return river, ship
    return river.without_passenger(pier), replace(ship, passengers=ship.passengers + 1)


class MississippiQueenGame(GameWithoutOptions, frozen=True):
    """The game, on a new river each time; implements `spielleiter.game.api.Game`."""

    name: str

    def new_state(self, rng: random.Random) -> MississippiQueenState:
        """Return the position with both ships at the start of a river that is generated with `rng`."""
        return MississippiQueenState(generate_river(rng))

    def resume(self, state: State) -> MississippiQueenState:
        """Return `state` with the rest of its river, which is not known of a position that was seen.

        The rest is the same one each time. Raises GameError for a position of another game.
        """
        if not isinstance(state, MississippiQueenState):
            raise GameError(f"not a position of {self.name}: {state!r}")
        return replace(state, river=state.river.completed())


MISSISSIPPI_QUEEN_2024: Final = MississippiQueenGame("mississippi-queen-2024")
