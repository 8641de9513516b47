"""The interface that every game has: `Game` makes positions, `State` is a position, `Outcome` says how a game ended.

Invariants:

- Everything here is pure and immutable. A state never changes; `State.play` returns a new one. Randomness is an
  argument, and there is no time.
- A seat is 0 or 1. Seat 0 belongs to the first player.
- `check(move) is None` if and only if `play(move)` succeeds.
- A position whose `outcome()` is known is final: `generate_legal_moves` yields nothing, and `check` and `play` raise
  GameOverError. So a search needs no special case for the end of the game, and a caller that plays on by mistake
  gets an error at once instead of continuing a game that cannot exist.

Example: play a game of Blokus to its end, each time with the first legal move.

>>> import random
>>> from spielleiter.game.blokus import BLOKUS_2021
>>> state = BLOKUS_2021.new_state(random.Random(1))
>>> while state.outcome() is None:
...     state = state.play(next(state.generate_legal_moves()))
>>> state.outcome(), state.points(0), state.points(1)
(Outcome(winner=1, reason='points'), (103,), (108,))
"""

from __future__ import annotations

import enum
import random
from collections.abc import Iterable, Mapping
from typing import Protocol, Self, TypeAlias, TypeVar, runtime_checkable

from msgspec import Struct

Seat: TypeAlias = int
"""0 or 1: which of the two players, in the order of the slots or of joining."""


class GameError(Exception):
    """Base class of the exceptions that the rules raise."""


class GameOptionError(GameError):
    """A value passed to `Game.with_options` is not allowed.

    The message names the allowed values. `known` lists them too; it is empty if there are too many to list.
    """

    def __init__(self, text: str, known: Iterable[str] = ()) -> None:
        super().__init__(text)
        self.known = tuple(known)


class GameOverError(GameError):
    """A move was checked or played in a position whose outcome is known. `move` is that move."""

    def __init__(self, move: Move) -> None:
        super().__init__(f"the game is over, no move is legal: {move}")
        self.move = move


class IllegalMoveError(GameError):
    """A move was played that the rules do not allow.

    `mistake` is the first rule that it breaks (in the order of the official server), `move` the move itself.
    """

    def __init__(self, mistake: Mistake, move: Move) -> None:
        super().__init__(f"{mistake.name}: {move}")
        self.mistake = mistake
        self.move = move


class IncompleteMoveError(GameError):
    """A move was checked or played that lacks so much that no rule can be applied to it. `move` is that move."""

    def __init__(self, move: Move) -> None:
        super().__init__(f"the move cannot be judged: {move}")
        self.move = move


class Mistake(enum.Enum):
    """Base class of each game's enumeration of broken rules. The texts that users read belong to the dialects."""


@runtime_checkable
class Move(Protocol):
    """A move: a frozen, hashable value. `str(move)` is for logs and error messages."""

    def __hash__(self) -> int: ...


class Outcome(Struct, frozen=True):
    """How a finished game ended according to the rules.

    `winner` is None for a draw. `reason` names the rule that decided, for example ``"points"``.
    """

    winner: Seat | None
    reason: str


@runtime_checkable
class State(Protocol):
    """A position, with everything that the rules need to continue from it.

    Four more methods are used where a state has them. `count_legal_moves()`, and `draw_legal_move(rng)`, which returns
    any legal move, all equally likely, or None, can be much faster than making every move. `standing()` returns the
    outcome if the game ended here; without it, more points win. `as_seen()` returns the position as players know it, in
    a game that hides a part of its positions.
    """

    @property
    def turn(self) -> int:
        """The number of moves so far, skipped ones included; the attribute `turn` on the wire."""
        ...

    @property
    def round(self) -> int:
        """The number of the current round, from 1; the attribute `round` on the wire."""
        ...

    @property
    def seat_on_turn(self) -> Seat:
        """The player to move. Meaningless once `outcome()` is known."""
        ...

    def check(self, move: Move) -> Mistake | None:
        """Return the first rule that `move` breaks in this position, or None if the move is legal.

        Raises GameOverError if the outcome is known, and TypeError for a move of another game.
        """
        ...

    def play(self, move: Move) -> State:
        """Return the position after `move`. This position does not change.

        Raises IllegalMoveError for a move that breaks a rule, GameOverError if the outcome is known, and TypeError for
        a move of another game.
        """
        ...

    def generate_legal_moves(self) -> Iterable[Move]:
        """Yield every legal move that changes the position, each once; nothing once `outcome()` is known."""
        ...

    def outcome(self) -> Outcome | None:
        """Return how the game ended, or None while it is still being played."""
        ...

    def points(self, seat: Seat) -> tuple[int, ...]:
        """Return the parts of the score of `seat`, in the order of the wire.

        The first part of a score on the wire (won, drawn or lost) is not among them. The number of parts is the same in
        every position.
        """
        ...


@runtime_checkable
class Game(Protocol):
    """A game with its options: the rules, and the start of a new game.

    >>> from spielleiter.game.blokus import BLOKUS_2021
    >>> isinstance(BLOKUS_2021, Game)
    True
    >>> sorted(BLOKUS_2021.option_names)
    ['gameEnd', 'startPiece']
    >>> BLOKUS_2021.with_options({"startPiece": "PENTO_W"}).new_state(random.Random()).start_shape.name
    'PENTO_W'
    """

    @property
    def name(self) -> str:
        """The name of the game in logs and error messages, for example ``"blokus-2021"``."""
        ...

    @property
    def option_names(self) -> frozenset[str]:
        """The options that `with_options` understands."""
        ...

    def with_options(self, options: Mapping[str, str]) -> Game:
        """Return the same game with `options` (name to value) set. Names that are not in `option_names` are ignored.

        Raises GameOptionError for a value that is not allowed.
        """
        ...

    def new_state(self, rng: random.Random) -> State:
        """Return the position that a new game starts from. All random choices are made with `rng`."""
        ...

    def resume(self, state: State) -> State:
        """Return the position `state`, to be continued under the rules and options of this game.

        Raises GameError for a position of another game.
        """
        ...


class GameWithoutOptions(Struct, frozen=True):
    """Base class of games that have no options."""

    @property
    def option_names(self) -> frozenset[str]:
        """No option."""
        return frozenset()

    def with_options(self, _options: Mapping[str, str]) -> Self:
        """Return this game."""
        return self


_M = TypeVar("_M")


def own_move(move: Move, kind: type[_M]) -> _M:
    """Return `move` as one of this game. Raises TypeError for a move of another game."""
    if not isinstance(move, kind):
        raise TypeError(f"not a {kind.__name__}: {move!r}")
    return move


def package_of(value: State | Game) -> str:
    """Return the name of the package below `spielleiter.game` that a position or a game belongs to.

    Other parts of the project have their modules for this game under the same name. The result is empty for a game from
    elsewhere.

    >>> from spielleiter.game.blokus import BLOKUS_2021
    >>> package_of(BLOKUS_2021)
    'blokus'
    """
    for kind in type(value).__mro__:  # it may be a variant that one season needs
        match kind.__module__.split("."):
            case ["spielleiter", "game", name, *_] if name != "api":
                return name
    return ""
