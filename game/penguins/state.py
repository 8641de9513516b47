"""Moves and positions of Penguins, and the games made of them.

Invariants: the rules never ask which release is played; every difference is a field of `Ruleset`. A cell is a floe with
fish, has a penguin, or is water. Seat 0 moves in even turns, seat 1 in odd ones, unless all penguins of that player are
stuck; then the other one moves.
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
from spielleiter.game.penguins.board import CELLS, NEIGHBORS, RAYS, SIZE, STEPS, Bits, Cell, Floes, draw_floes, scan

PENGUINS: Final = 4
"""How many penguins each player has."""

MORE_FISH: Final = "more_fish"
"""The reason of an outcome: the winner has more fish."""
EQUAL_FISH: Final = "equal_fish"
"""The reason of an outcome: a draw."""


class Ruleset(Struct, frozen=True):
    """The values in which the releases of the season differ."""

    name: str


class PenguinsMistake(Mistake):
    """The rules that a move can break, in the order in which they are checked."""

    WRONG_COLOR = "no penguin of the player's own is there"
    PENGUINS = "the player has to place all penguins before one of them slides"
    INVALID_MOVE = "no penguin can slide there"
    MAX_PENGUINS = "the player has placed all penguins"
    SINGLE_FISH = "penguins are placed on single fish"


class PenguinsMove(Struct, frozen=True):
    """A penguin is placed on `target`, or slides there from `start`.

    `start` is None when a penguin is placed; `target` is None if a client has left it out.
    """

    start: Cell | None
    target: Cell | None

    def __str__(self) -> str:
        return f"{self.target}" if self.start is None else f"{self.start} {self.target}"


class PenguinsState(Struct, frozen=True):
    """A position; implements `spielleiter.game.api.State`."""

    rules: Ruleset
    floes: Floes
    penguins: tuple[Bits, Bits] = (0, 0)
    """The cells of each player's penguins."""
    fish: tuple[int, int] = (0, 0)
    """How many fish each player has."""
    turn: int = 0
    last_move: PenguinsMove | None = None

    @property
    def round(self) -> int:
        """The number of the current round, from 1. It does not appear on the wire."""
        return 1 + self.turn // 2

    @property
    def seat_on_turn(self) -> Seat:
        """The player to move. Meaningless once the game is over."""
        seat = self.turn % 2
        return 1 - seat if self._is_stuck(seat) else seat

    def fish_at(self, number: int) -> int:
        """Return how many fish lie on the cell with this number."""
        return next((fish for fish, cells in enumerate(self.floes, 1) if cells >> number & 1), 0)

    def check(self, move: Move) -> PenguinsMistake | None:
        """Return the first rule that `move` breaks, in the order of the official server, or None if it is legal.

        Raises GameOverError if the game is over, IncompleteMoveError for a move without a target or with a cell that is
        not on the board where a rule needs one, and TypeError for a move of another game.
        """
        own = own_move(move, PenguinsMove)
        if self._is_over():
            raise GameOverError(move)
        return self._find_placing_mistake(own) if own.start is None else self._find_sliding_mistake(own, own.start)

    def play(self, move: Move) -> PenguinsState:
        """Return the position after `move`.

        Raises IllegalMoveError for a move that breaks a rule, and what `check` raises.
        """
        mistake = self.check(move)
        if mistake is not None:
            raise IllegalMoveError(mistake, move)
        move = own_move(move, PenguinsMove)
        assert move.target is not None
        seat, number = self.seat_on_turn, move.target.number
        target = 1 << number
        own = self.penguins[seat] | target
        if move.start is not None:
            own ^= 1 << move.start.number
        one, two, three, four = self.floes
        fish = self.fish[seat] + self.fish_at(number)
        return PenguinsState(
            self.rules,
            (one & ~target, two & ~target, three & ~target, four & ~target),
            (own, self.penguins[1]) if seat == 0 else (self.penguins[0], own),
            (fish, self.fish[1]) if seat == 0 else (self.fish[0], fish),
            self.turn + 1,
            move,
        )

    def generate_legal_moves(self) -> Iterator[PenguinsMove]:
        """Yield every legal move once; nothing once the game is over.

        In a position that no game reaches, a player may have nowhere to place a penguin although the game is not over.
        """
        if self._is_over():
            return
        own = self.penguins[self.seat_on_turn]
        if own.bit_count() < PENGUINS:
            for number in scan(self.floes[0]):
                yield PenguinsMove(None, CELLS[number])
            return
        free = self._free()
        for start in scan(own):
            for ray in RAYS[start]:
                for number in ray:
                    if not free >> number & 1:
                        break
                    yield PenguinsMove(CELLS[start], CELLS[number])

    def outcome(self) -> Outcome | None:
        """Return the outcome once all penguins of both players are stuck, else None."""
        if not self._is_over():
            return None
        first, second = self.fish
        if first == second:
            return Outcome(None, EQUAL_FISH)
        return Outcome(0 if first > second else 1, MORE_FISH)

    def points(self, seat: Seat) -> tuple[int, ...]:
        """Return the fish of `seat`, the only part of its score."""
        return (self.fish[seat],)

    def _free(self) -> Bits:
        """Return the cells on which a penguin can stand."""
        one, two, three, four = self.floes
        return one | two | three | four

    def _is_stuck(self, seat: Seat) -> bool:
        """Return whether all penguins of `seat` are placed, and none of them can slide."""
        own, free = self.penguins[seat], self._free()
        return own.bit_count() == PENGUINS and not any(NEIGHBORS[number] & free for number in scan(own))

    def _is_over(self) -> bool:
        return self._is_stuck(0) and self._is_stuck(1)

    def _find_sliding_mistake(self, move: PenguinsMove, start: Cell) -> PenguinsMistake | None:
        own = self.penguins[self.seat_on_turn]
        if not own >> _nearest(start, move) & 1:
            return PenguinsMistake.WRONG_COLOR
        if own.bit_count() < PENGUINS:
            return PenguinsMistake.PENGUINS
        if move.target is None:
            raise IncompleteMoveError(move)
        if not self._reaches(start, move.target):
            return PenguinsMistake.INVALID_MOVE
        if not start.is_on_board:  # left of the border, in line with cells of the rows beside it
            raise IncompleteMoveError(move)
        return None

    def _reaches(self, start: Cell, target: Cell) -> bool:
        """Return whether there are floes on the whole way from `start` to `target`, in one of the six directions."""
        free = self._free()
        for dx, dy in STEPS:
            cell = start.moved(dx, dy)
            while cell.is_on_board and free >> cell.number & 1:
                if cell == target:
                    return True
                cell = cell.moved(dx, dy)
        return False

    def _find_placing_mistake(self, move: PenguinsMove) -> PenguinsMistake | None:
        if self.penguins[self.seat_on_turn].bit_count() >= PENGUINS:
            return PenguinsMistake.MAX_PENGUINS
        if move.target is None:
            raise IncompleteMoveError(move)
        if not self.floes[0] >> _nearest(move.target, move) & 1:
            return PenguinsMistake.SINGLE_FISH
        if not move.target.is_on_board:
            raise IncompleteMoveError(move)
        return None


def _nearest(cell: Cell, move: PenguinsMove) -> int:
    """Return the number of the hexagon that the official server looks at for these coordinates.

    It halves x towards 0, and so takes a place between two hexagons for the left one of them. Raises
    IncompleteMoveError if there is none.
    """
    if not (-1 <= cell.x < 2 * SIZE and 0 <= cell.y < SIZE):
        raise IncompleteMoveError(move)
    return cell.y * SIZE + max(cell.x, 0) // 2


class PenguinsGame(GameWithoutOptions, frozen=True):
    """A rule set; implements `spielleiter.game.api.Game`."""

    rules: Ruleset

    @property
    def name(self) -> str:
        """The name of the rule set."""
        return self.rules.name

    def new_state(self, rng: random.Random) -> PenguinsState:
        """Return the start of a game; the fish are drawn with `rng`."""
        return PenguinsState(self.rules, draw_floes(rng))

    def resume(self, state: State) -> PenguinsState:
        """Return the position `state` under the rules of this game. Raises GameError for one of another game."""
        if not isinstance(state, PenguinsState):
            raise GameError(f"not a position of {self.name}: {state!r}")
        return replace(state, rules=self.rules)


RULES_2023: Final = Ruleset("penguins-2023")
"""The rules of 2023, as release 23.0.3 implements them."""

PENGUINS_2023: Final = PenguinsGame(RULES_2023)
