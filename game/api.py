"""What the rest of the house may ask of any game.

Law: everything here is pure and immutable. A state never changes; `play` answers with a new one. Randomness is
passed in, time does not exist. A seat is 0 (the player who was given the first place) or 1.
"""

from __future__ import annotations

import enum
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

Seat: TypeAlias = int
"""0 or 1: the place at the table, in the order of the slots or of joining."""


class GameError(Exception):
    """Base of everything the rules raise."""


class GameOptionError(GameError):
    """An option handed to `Game.with_options` has a value that this game does not know.

    The text says which values are known; `known` lists them, and is empty where there are too many to list.
    """

    def __init__(self, text: str, known: Iterable[str] = ()) -> None:
        super().__init__(text)
        self.known = tuple(known)


class IllegalMoveError(GameError):
    """A move was played that the rules do not allow.

    `mistake` is the rule that was broken first (in the order of the official server), `move` the move itself.
    """

    def __init__(self, mistake: Mistake, move: Move) -> None:
        super().__init__(f"{mistake.name}: {move}")
        self.mistake = mistake
        self.move = move


class Mistake(enum.Enum):
    """Base of the enumerations of broken rules, one a game; the texts people read belong to the wire form."""


@runtime_checkable
class Move(Protocol):
    """One move: a frozen, hashable value. `str(move)` is for logs and people."""

    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a finished game ended by the rules.

    `winner` is None for a draw; `reason` names the rule that decided (for example ``"points"``).
    """

    winner: Seat | None
    reason: str


@runtime_checkable
class State(Protocol):
    """A position, with everything that the rules need to go on from it."""

    @property
    def turn(self) -> int:
        """The wire's `turn`: moves so far, skipped ones included."""
        ...

    @property
    def round(self) -> int:
        """The wire's `round`, from 1."""
        ...

    @property
    def seat_on_turn(self) -> Seat:
        """Whose move is awaited; of no meaning once `outcome()` is there."""
        ...

    def check(self, move: Move) -> Mistake | None:
        """The first rule that `move` breaks here, or None if it is legal."""
        ...

    def play(self, move: Move) -> State:
        """The position after `move`. Raises IllegalMoveError; this position stays as it is."""
        ...

    def generate_legal_moves(self) -> Iterable[Move]:
        """Every legal move that changes the position, each once."""
        ...

    def outcome(self) -> Outcome | None:
        """None while the game goes on."""
        ...

    def points(self, seat: Seat) -> tuple[int, ...]:
        """The parts of this seat's score after the first (which says won, drawn or lost), in the wire's order."""
        ...


@runtime_checkable
class Game(Protocol):
    """A rule set that positions can be made of."""

    @property
    def name(self) -> str:
        """A word for logs and errors, for example ``"blokus-2021"``."""
        ...

    @property
    def option_names(self) -> frozenset[str]:
        """The option keys that `with_options` understands."""
        ...

    def with_options(self, options: Mapping[str, str]) -> Game:
        """The same game with options set; keys that are not in `option_names` are none of its business.

        Raises GameOptionError for a value it does not know.
        """
        ...

    def new_state(self, rng: random.Random) -> State:
        """The position a game starts from."""
        ...

    def resume(self, state: State) -> State:
        """The same position, to be played on under the rules and options of this game.

        Raises GameError for a position of another game.
        """
        ...
