"""The built-in strategies: good ones to play against, and bad ones for tests of servers and match runners.

The good ones choose their moves with `client/choosers.py`. The bad ones misbehave on the wire, and then wait for the
server's reaction. They need the player for this, so all strategies are made as responders.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import trio

from spielleiter.client.choosers import (
    CHOOSERS,
    GAMES_OF_STRATEGIES,
    LADDERS,
    LEVEL_NUMBERS,
    PLAIN_CHOOSERS,
    level_name,
    levels_text,
    random_move,
)
from spielleiter.client.player import Player, Responder, respond_with
from spielleiter.client.search_budget import Choose
from spielleiter.game.api import Game, Move, State

DEFAULT_DELAY: Final = 3.0
"""Seconds after which `slow` answers; a server's soft time limit is 2 s by default."""

GARBAGE: Final = b'\n  <room roomId="<<<">\n    <data class=>&nothing;\n  </moor>'


@dataclass(frozen=True, slots=True)
class StrategyKind:
    """A built-in strategy: its name, its description and how it is made."""

    name: str
    description: str
    choose: Choose | None = None
    """The chooser of its moves."""
    act: Responder | None = None
    """What it does on the connection instead; if both are None, it waits before it chooses any legal move."""
    is_bad: bool = False
    is_late: bool = False
    """Whether it answers late or never, so that a game with it ends by a time limit."""
    position: type | tuple[type, ...] = object
    """The type of the positions that it can play, or several types."""
    is_level: bool = False
    """Whether it is a level of the ladder, of which a game may have fewer than another one."""
    is_alias: bool = False
    """Whether it plays like another strategy, but one game only."""

    def plays(self, game: Game) -> bool:
        """Return whether it can play `game`."""
        return isinstance(game.new_state(random.Random(0)), self.position)

    def refusal(self, game: Game, game_type: str) -> str:
        """Return one line that says that it does not play `game`, which players call `game_type`."""
        refusal = f"the strategy {self.name} does not play {game_type}"
        return f"{refusal}: {levels_text(game.new_state(random.Random(0)))}" if self.is_level else refusal


async def _say_nothing(_player: Player, _state: State) -> None:
    await trio.sleep_forever()


_KINDS = (
    StrategyKind("first", "always the first legal move", CHOOSERS["first"]),
    StrategyKind("random", "any legal move", CHOOSERS["random"]),
    StrategyKind(
        "greedy",
        "the move that looks best at first sight (Blokus: the largest piece, with the most corners to continue from; "
        "Hase und Igel: the fastest way to the goal that the carrots allow)",
        CHOOSERS["greedy"],
    ),
    *(
        StrategyKind(
            f"{prefix}-{name}",
            f"{name}, for this one game only",
            CHOOSERS[f"{prefix}-{name}"],
            position=position,
            is_alias=True,
        )
        for prefix, position in GAMES_OF_STRATEGIES.items()
        for name in PLAIN_CHOOSERS
    ),
    *(
        StrategyKind(
            level_name(number),
            f"stronger than {level_name(number - 1)}" if number > 1 else "the weakest level",
            CHOOSERS[level_name(number)],
            position=tuple(position for position, levels in LADDERS.items() if number <= len(levels)),
            is_level=True,
        )
        for number in LEVEL_NUMBERS
    ),
    StrategyKind("illegal", "a move against the rules", CHOOSERS["illegal"], is_bad=True),
    StrategyKind("slow", "any legal move, too late", is_bad=True, is_late=True),
    StrategyKind(
        "crash",
        "breaks the connection when a move is requested",
        act=lambda player, _state: player.abort(),
        is_bad=True,
    ),
    StrategyKind(
        "garbage", "answers with broken XML", act=lambda player, _state: player.send_bytes(GARBAGE), is_bad=True
    ),
    StrategyKind("silent", "never answers", act=_say_nothing, is_bad=True, is_late=True),
)

STRATEGIES: Final[Mapping[str, StrategyKind]] = MappingProxyType({kind.name: kind for kind in _KINDS})
"""The built-in strategies by name, the good ones first.

    for name, strategy in STRATEGIES.items():
        print(name, strategy.description)
"""


def make_responder(name: str, *, seed: int | None = None, delay: float = DEFAULT_DELAY) -> Responder:
    """Return the built-in strategy called `name`, as a responder for `Player.play_with`.

    - `name`: one of `STRATEGIES`, such as ``random`` or ``greedy``.
    - `seed`: makes the strategy choose the same moves in every run; None means different ones.
    - `delay`: the seconds after which ``slow`` answers.

    Raises KeyError for an unknown name.

        report = await player.play_with(make_responder("greedy", seed=1))
    """
    kind, rng = STRATEGIES[name], random.Random(seed)
    if kind.act is not None:
        return kind.act
    choose = kind.choose or random_move

    def think(state: State) -> Move:  # a plain function: it runs in a thread, not in the event loop
        return choose(state, rng)

    async def answer(state: State) -> Move:  # takes about a millisecond, too little for a thread
        if kind.choose is None:
            await trio.sleep(delay)
        return choose(state, rng)

    return respond_with(think if kind.is_level else answer)
