"""Moves and positions of Piranhas, and the games made of them.

Invariants: the rules never ask which release is played; every difference is a field of `Ruleset`. Seat 0 moves in even
turns, seat 1 in odd ones; nobody can skip a turn.
"""

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
    IncompleteMoveError,
    Mistake,
    Move,
    Outcome,
    Seat,
    State,
    own_move,
)
from spielleiter.game.piranhas.board import CELLS, RAYS, SIZES, Bits, Cell, Direction, Fish, draw_start, scan

ROUND_LIMIT: Final = 30

LARGER_SWARM: Final = "larger_swarm"
"""The reason of an outcome: the winner has the heavier swarm."""
EQUAL_SWARMS: Final = "equal_swarms"
"""The reason of an outcome: a draw."""
FIRST_UNION: Final = "first_union"
"""The reason of an outcome: the swarms are equal, and the winner was the first to unite all its fish."""
BLOCKED: Final = "blocked"
"""The reason of an outcome: the loser cannot move."""


class PiranhasMistake(Mistake):
    """The rules that a move can break, in the order in which they are checked."""

    WRONG_START = "no fish of the player's own is there"
    JUMP_OVER_OPPONENT = "a fish of the opponent is in the way"
    DESTINATION_OUT_OF_BOUNDS = "the target is not on the board"
    DESTINATION_BLOCKED = "a squid is on the target"
    DESTINATION_BLOCKED_BY_SELF = "a fish of the player's own is on the target"


class PiranhasMove(Struct, frozen=True):
    """The fish on `start` swims in `direction`, as far as there are fish on this line, in both directions.

    Either is None if a client has left it out.
    """

    start: Cell | None
    direction: Direction | None

    def __str__(self) -> str:
        return f"{self.start} {None if self.direction is None else self.direction.name}"


class Ruleset(Struct, frozen=True):
    """The rules of one release, as far as they differ between releases."""

    name: str
    first_union_breaks_ties: bool
    """Whether of two equal swarms that of the player wins who was the first to unite all its fish."""
    loses_without_moves: bool
    """Whether a player that cannot move has lost. If not, it is asked for a move all the same."""


class PiranhasState(Struct, frozen=True):
    """A position; implements `spielleiter.game.api.State`."""

    rules: Ruleset
    fish: tuple[Fish, Fish]
    """The fish of each seat."""
    squids: Bits
    """The cells on which no fish can end its move."""
    turn: int = 0
    last_move: PiranhasMove | None = None
    first_union: Seat | None = None
    """The player who was the first to unite all its fish. None if the rules do not ask for it."""

    @property
    def round(self) -> int:
        """The number of the current round, from 1. It does not appear on the wire."""
        return 1 + self.turn // 2

    @property
    def seat_on_turn(self) -> Seat:
        """The player to move. Meaningless once the game is over."""
        return self.turn % 2

    def size_at(self, cell: Cell) -> tuple[Seat, int] | None:
        """Return the owner and the size of the fish on `cell`, which must be on the board; None if there is none."""
        for seat in (0, 1):
            for size, cells in zip(SIZES, self.fish[seat], strict=True):
                if cells >> cell.number & 1:
                    return seat, size
        return None

    def check(self, move: Move) -> PiranhasMistake | None:
        """Return the first rule that `move` breaks, in the order of the official server, or None if it is legal.

        Raises GameOverError if the game is over, IncompleteMoveError for a move without a direction or a start on the
        board, and TypeError for a move of another game.
        """
        return self._find_target(own_move(move, PiranhasMove))[1]

    def target(self, move: PiranhasMove) -> Cell | None:
        """Return the cell to which a legal move leads; None for any other move. Raises what `check` raises."""
        number, mistake = self._find_target(move)
        return CELLS[number] if mistake is None else None

    def play(self, move: Move) -> PiranhasState:
        """Return the position after `move`.

        Raises IllegalMoveError for a move that breaks a rule, and what `check` raises.
        """
        move = own_move(move, PiranhasMove)
        number, mistake = self._find_target(move)
        if mistake is not None:
            raise IllegalMoveError(mistake, move)
        assert move.start is not None
        target, seat = 1 << number, self.seat_on_turn
        own, other = self.fish[seat].moved(1 << move.start.number, target), self.fish[1 - seat].without(target)
        fish = (own, other) if seat == 0 else (other, own)
        first_union = self.first_union
        if first_union is None and self.rules.first_union_breaks_ties:
            first_union = next((each for each in (0, 1) if fish[each].is_united), None)
        return PiranhasState(self.rules, fish, self.squids, self.turn + 1, move, first_union)

    def generate_legal_moves(self) -> Iterator[PiranhasMove]:
        """Yield every legal move once; nothing once the game is over.

        If the rules let a player go on that cannot move, there is none although the game is not over.
        """
        if not self._is_over():
            yield from self._generate_moves()

    def outcome(self) -> Outcome | None:
        """Return the outcome once the game is over, else None.

        It ends with a round after which all fish of a player are united, after 30 rounds, or, depending on the rules,
        when a player cannot move.
        """
        return self.standing() if self._is_over() else None

    def standing(self) -> Outcome:
        """Return who would have won if the game ended in this position."""
        if any(each.is_united for each in self.fish):
            return self._compare_swarms(self.first_union)
        if self.rules.loses_without_moves and not self._has_move():
            return Outcome(1 - self.seat_on_turn, BLOCKED)
        return self._compare_swarms(None)

    def points(self, seat: Seat) -> tuple[int, ...]:
        """Return the weight of the heaviest swarm of `seat`, the only part of its score; -1 if it has no fish."""
        return (self.fish[seat].largest_swarm,)

    def _compare_swarms(self, first_union: Seat | None) -> Outcome:
        first, second = (each.largest_swarm for each in self.fish)
        if first != second:
            return Outcome(0 if first > second else 1, LARGER_SWARM)
        return Outcome(None, EQUAL_SWARMS) if first_union is None else Outcome(first_union, FIRST_UNION)

    def _is_over(self) -> bool:
        return (
            self.turn >= 2 * ROUND_LIMIT
            or (self.turn % 2 == 0 and any(each.is_united for each in self.fish))
            or (self.rules.loses_without_moves and not self._has_move())
        )

    def _has_move(self) -> bool:
        return next(self._generate_moves(), None) is not None

    def _generate_moves(self) -> Iterator[PiranhasMove]:
        seat = self.seat_on_turn
        own, other = self.fish[seat].cells, self.fish[1 - seat].cells
        occupied, closed = own | other, own | self.squids
        for number in scan(own):
            for direction in _DIRECTIONS:
                line, _, targets = RAYS[number][direction]
                distance = (line & occupied).bit_count()
                if distance <= len(targets):
                    passed, target = targets[distance - 1]
                    if not passed & other and not closed >> target & 1:
                        yield PiranhasMove(CELLS[number], direction)

    def _find_target(self, move: PiranhasMove) -> tuple[int, PiranhasMistake | None]:
        """Return the number of the target of `move`, and the mistake; if there is one, the number means nothing."""
        if self._is_over():
            raise GameOverError(move)
        start, seat = move.start, self.seat_on_turn
        if start is None or not start.is_on_board:
            raise IncompleteMoveError(move)
        own, other = self.fish[seat].cells, self.fish[1 - seat].cells
        if not own >> start.number & 1:
            return 0, PiranhasMistake.WRONG_START
        if move.direction is None:
            raise IncompleteMoveError(move)
        line, cells, targets = RAYS[start.number][move.direction]
        distance = (line & (own | other)).bit_count()
        is_beyond = distance > len(targets)
        passed, target = (cells, 0) if is_beyond else targets[distance - 1]
        if passed & other:
            return target, PiranhasMistake.JUMP_OVER_OPPONENT
        if is_beyond:
            return target, PiranhasMistake.DESTINATION_OUT_OF_BOUNDS
        if self.squids >> target & 1:
            return target, PiranhasMistake.DESTINATION_BLOCKED
        return target, PiranhasMistake.DESTINATION_BLOCKED_BY_SELF if own >> target & 1 else None


_DIRECTIONS: Final = tuple(Direction)


class PiranhasGame(GameWithoutOptions, frozen=True):
    """A rule set; implements `spielleiter.game.api.Game`."""

    rules: Ruleset

    @property
    def name(self) -> str:
        """The name of the rule set."""
        return self.rules.name

    def new_state(self, rng: random.Random) -> PiranhasState:
        """Return the start of a game; the sizes of the fish and the cells of the squids are drawn with `rng`."""
        return PiranhasState(self.rules, *draw_start(rng))

    def resume(self, state: State) -> PiranhasState:
        """Return the position `state` under the rules of this game. Raises GameError for one of another game."""
        if not isinstance(state, PiranhasState):
            raise GameError(f"not a position of {self.name}: {state!r}")
        return replace(state, rules=self.rules)


RULES_2026: Final = Ruleset("piranhas-2026", first_union_breaks_ties=True, loses_without_moves=True)
"""The rules from 31 March 2026 on, as release 26.1.0 implements them."""

RULES_2026_FIRST: Final = Ruleset("piranhas-2026-26.0.7", first_union_breaks_ties=False, loses_without_moves=False)
"""The rules at the beginning of the season, as release 26.0.7 implements them."""

PIRANHAS_2026: Final = PiranhasGame(RULES_2026)
PIRANHAS_2026_FIRST: Final = PiranhasGame(RULES_2026_FIRST)
