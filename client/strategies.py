"""The built-in strategies by name: good ones to play against, and bad ones to test a server or a match runner with.

Invariants: a strategy knows only what `game.api` says about a game, and draws from nothing but the generator it is made
with: the same seed and the same positions give the same moves. The bad ones misbehave on the wire and then wait for
what the server has to say; they need the player for this, so all of them are made as responders.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

import trio

from client.errors import StrategyError
from client.evaluation import GAMES_OF_STRATEGIES, contenders, evaluation_of
from client.player import Player, Responder, respond_with
from game.api import Game, Move, State

DEFAULT_DELAY: Final = 3.0
"""Seconds after which `slow` answers; the soft limit is 2 s unless the server is told otherwise."""

GARBAGE: Final = b'\n  <room roomId="<<<">\n    <data class=>&nothing;\n  </moor>'


Choose: TypeAlias = Callable[[State, random.Random], Move]
"""Chooses a move, drawing from nothing but the generator."""

Maker: TypeAlias = Callable[[random.Random, float], Responder]
"""Makes a responder from the generator it may draw from and the delay of late answers in seconds."""


@dataclass(frozen=True, slots=True)
class StrategyKind:
    """A strategy before it plays."""

    name: str
    description: str
    make: Maker
    is_bad: bool = False
    is_late: bool = False
    """Only a time limit ends a game with it."""
    position: type = object
    """The type of the positions it knows how to play."""
    choose: Choose | None = None
    """What makes its moves; None for a strategy that does something else on the connection."""

    def plays(self, game: Game) -> bool:
        """Whether it knows how to play this game."""
        return isinstance(game.new_state(random.Random(0)), self.position)


def _legal_moves(state: State) -> list[Move]:
    moves = list(state.generate_legal_moves())
    if not moves:
        raise StrategyError(f"no move is possible at turn {state.turn}, and yet one was asked for")
    return moves


def first_move(state: State, _rng: random.Random) -> Move:
    """The first legal move there is."""
    return _legal_moves(state)[0]


def random_move(state: State, rng: random.Random) -> Move:
    """Any legal move, all alike."""
    return rng.choice(_legal_moves(state))


def greedy_move(state: State, rng: random.Random) -> Move:
    """One of the moves that look best at first sight."""
    evaluate = evaluation_of(state)
    rated = [(evaluate(state, move), move) for move in contenders(state, _legal_moves(state))]
    best = max(rating for rating, _ in rated)
    return rng.choice([move for rating, move in rated if rating == best])


def illegal_move(state: State, _rng: random.Random) -> Move:
    """A move that would be legal one move later, but not now; failing that, the last one once more.

    Where none is found, as in a game whose every move can be the first one, a legal move: a later one is illegal.
    """
    legal = _legal_moves(state)
    early = (each for move in legal for each in state.play(move).generate_legal_moves())
    last: Move | None = getattr(state, "last_move", None)  # not something the rules ask of every game
    illegal = (move for move in itertools.chain(early, [] if last is None else [last]) if state.check(move) is not None)
    return next(illegal, legal[0])


def _choosing(choose: Choose) -> Maker:
    def make(rng: random.Random, _delay: float) -> Responder:
        async def strategy(state: State) -> Move:  # a millisecond's work, for which a thread would not pay
            return choose(state, rng)

        return respond_with(strategy)

    return make


def _acting(responder: Responder) -> Maker:
    def make(_rng: random.Random, _delay: float) -> Responder:
        return responder

    return make


def _make_slow(rng: random.Random, delay: float) -> Responder:
    async def strategy(state: State) -> Move:
        await trio.sleep(delay)
        return random_move(state, rng)

    return respond_with(strategy)


def _chooser(
    name: str, description: str, choose: Choose, *, is_bad: bool = False, position: type = object
) -> StrategyKind:
    return StrategyKind(name, description, _choosing(choose), is_bad, position=position, choose=choose)


async def _crash(player: Player, _state: State) -> None:
    await player.abort()


async def _send_garbage(player: Player, _state: State) -> None:
    await player.send_bytes(GARBAGE)


async def _say_nothing(_player: Player, _state: State) -> None:
    await trio.sleep_forever()


_KINDS = (
    _chooser("first", "always the first legal move", first_move),
    _chooser("random", "any legal move", random_move),
    _chooser(
        "greedy",
        "the move that looks best at first sight (Blokus: the largest stone, with the most corners to go on from; "
        "Hase und Igel: the shortest way to the goal that the carrots pay for)",
        greedy_move,
    ),
    *(
        _chooser(f"{prefix}-{name}", f"{name}, of this one game alone", choose, position=position)
        for prefix, position in GAMES_OF_STRATEGIES.items()
        for name, choose in (("random", random_move), ("greedy", greedy_move))
    ),
    _chooser("illegal", "a move against the rules", illegal_move, is_bad=True),
    StrategyKind("slow", "any legal move, too late", _make_slow, is_bad=True, is_late=True),
    StrategyKind("crash", "vanishes without a goodbye when asked", _acting(_crash), is_bad=True),
    StrategyKind("garbage", "answers with broken XML", _acting(_send_garbage), is_bad=True),
    StrategyKind("silent", "never answers", _acting(_say_nothing), is_bad=True, is_late=True),
)

STRATEGIES: Final[Mapping[str, StrategyKind]] = MappingProxyType({kind.name: kind for kind in _KINDS})
"""By name; the good ones first."""


def make_responder(name: str, *, seed: int | None = None, delay: float = DEFAULT_DELAY) -> Responder:
    """The built-in strategy called `name`, to be handed to `Player.play_with`.

    `seed`: the same moves in every run; None: different ones. `delay`: the seconds after which `slow` answers. Raises
    KeyError for an unknown name.
    """
    return STRATEGIES[name].make(random.Random(seed), delay)


def make_chooser(name: str, *, seed: int | None = None) -> Callable[[State], Move]:
    """The built-in strategy called `name` as a plain function, without a connection.

    `seed` as for `make_responder`. Raises KeyError for an unknown name, and ValueError for a strategy that does more
    than to choose moves.
    """
    choose, rng = STRATEGIES[name].choose, random.Random(seed)
    if choose is None:
        raise ValueError(f"the strategy {name} needs a connection")
    return lambda state: choose(state, rng)
