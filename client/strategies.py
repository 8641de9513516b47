"""The built-in strategies by name: good ones to play against, and bad ones to test a server or a match runner with.

Invariants: the good ones choose their moves by client/choosers.py, from nothing but the generator they are made with:
the same seed and the same positions give the same moves. The bad ones misbehave on the wire and then wait for
what the server has to say; they need the player for this, so all of them are made as responders.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

import trio

from spielleiter.client.choosers import CHOOSERS, PLAIN_CHOOSERS, Choose, random_move
from spielleiter.client.evaluation import GAMES_OF_STRATEGIES
from spielleiter.client.player import Player, Responder, respond_with
from spielleiter.game.api import Game, Move, State

DEFAULT_DELAY: Final = 3.0
"""Seconds after which `slow` answers; the soft limit is 2 s unless the server is told otherwise."""

GARBAGE: Final = b'\n  <room roomId="<<<">\n    <data class=>&nothing;\n  </moor>'


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


def _chooser(name: str, description: str, *, is_bad: bool = False, position: type = object) -> StrategyKind:
    choose = CHOOSERS[name]
    return StrategyKind(name, description, _choosing(choose), is_bad, position=position, choose=choose)


async def _crash(player: Player, _state: State) -> None:
    await player.abort()


async def _send_garbage(player: Player, _state: State) -> None:
    await player.send_bytes(GARBAGE)


async def _say_nothing(_player: Player, _state: State) -> None:
    await trio.sleep_forever()


_KINDS = (
    _chooser("first", "always the first legal move"),
    _chooser("random", "any legal move"),
    _chooser(
        "greedy",
        "the move that looks best at first sight (Blokus: the largest piece, with the most corners to go on from; "
        "Hase und Igel: the shortest way to the goal that the carrots pay for)",
    ),
    *(
        _chooser(f"{prefix}-{name}", f"{name}, of this one game alone", position=position)
        for prefix, position in GAMES_OF_STRATEGIES.items()
        for name in PLAIN_CHOOSERS
    ),
    _chooser("illegal", "a move against the rules", is_bad=True),
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
