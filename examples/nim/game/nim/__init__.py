"""Nim: whoever takes the last stick wins."""

from __future__ import annotations

import enum
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from spielleiter.game.api import GameError, GameOverError, IllegalMoveError, Mistake, Move, Outcome, Seat, State

STICKS: Final = 15


class NimMistake(Mistake):
    COUNT = enum.auto()


@dataclass(frozen=True, slots=True)
class NimMove:
    """Takes `count` sticks, or gives up if that is None."""

    count: int | None

    def __str__(self) -> str:
        return "give up" if self.count is None else f"take {self.count}"


@dataclass(frozen=True, slots=True)
class NimState:
    sticks: int = STICKS
    turn: int = 0
    last_move: NimMove | None = None

    @property
    def round(self) -> int:
        return 1 + self.turn // 2

    @property
    def seat_on_turn(self) -> Seat:
        return self.turn % 2

    @property
    def most(self) -> int:
        """How many sticks may be taken now."""
        last = None if self.last_move is None else self.last_move.count
        return min(self.sticks, 3 if last is None else last + 1)

    def check(self, move: Move) -> NimMistake | None:
        if not isinstance(move, NimMove):
            raise TypeError(f"not a move of Nim: {move!r}")
        if self.outcome() is not None:
            raise GameOverError(move)
        return None if move.count is None or 0 < move.count <= self.most else NimMistake.COUNT

    def play(self, move: Move) -> NimState:
        mistake = self.check(move)
        if mistake is not None:
            raise IllegalMoveError(mistake, move)
        assert isinstance(move, NimMove)
        return NimState(self.sticks - (move.count or 0), self.turn + 1, move)

    def generate_legal_moves(self) -> Iterator[NimMove]:  # giving up is legal, but nobody should do it by chance
        return (NimMove(count) for count in range(1, 1 + self.most) if self.outcome() is None)

    def outcome(self) -> Outcome | None:
        if self.last_move is not None and self.last_move.count is None:
            return Outcome(self.seat_on_turn, "gave_up")
        return None if self.sticks else Outcome(1 - self.seat_on_turn, "last_stick")

    def points(self, seat: Seat) -> tuple[int, ...]:
        outcome = self.outcome()
        return (int(outcome is not None and outcome.winner == seat),)


@dataclass(frozen=True, slots=True)
class NimGame:
    name: str = "nim"
    option_names: frozenset[str] = frozenset()

    def with_options(self, options: Mapping[str, str]) -> NimGame:  # noqa: ARG002
        return self

    def new_state(self, rng: random.Random) -> NimState:  # noqa: ARG002
        return NimState()

    def resume(self, state: State) -> NimState:
        if not isinstance(state, NimState):
            raise GameError(f"not a position of {self.name}: {state!r}")
        return state


NIM: Final = NimGame()
