"""The built-in strategies: good ones to play against, and bad ones for tests of servers and match runners.

The good ones choose their moves with `players/choosers.py`. Most of the bad ones misbehave on the wire instead, by
`client/responders.py`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from spielleiter.game.api import Game, Move, State, package_of
from spielleiter.players.choosers import (
    LEVEL_NUMBERS,
    TIMED_LEVEL,
    chooser_of_level,
    first_move,
    greedy_move,
    illegal_move,
    ladder_of,
    level_name,
    levels_text,
    random_move,
)
from spielleiter.players.search_budget import USUAL_SECONDS, Choose

SECONDS_SIGN: Final = "@"
"""Stands between the name of a level that takes the time that it is given, and that time."""
MIN_SECONDS: Final = 0.01
MAX_SECONDS: Final = 60.0
"""The limits of that time; in a minute, the tree of a search takes about 400 MB."""
_SECONDS: Final = re.compile(r"\d{1,2}(\.\d{1,6})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class StrategyKind:
    """A built-in strategy: its name, its description and how it is made."""

    name: str
    description: str
    choose: Choose | None = None
    """The chooser of its moves; None if what it does needs a connection."""
    is_bad: bool = False
    is_late: bool = False
    """Whether it answers late or never, so that a game with it ends by a time limit."""
    package: str | None = None
    """The name of the package of the only game that it plays; None: any game."""
    level: int = 0
    """Its number on the ladder, of which a game may have fewer levels than another one; 0 for no level."""
    takes_time: bool = False
    """Whether it is a level that takes the time that it is given, as in `level-9@0.5`."""
    is_alias: bool = False
    """Whether it plays like another strategy, but one game only."""

    def plays(self, game: Game) -> bool:
        """Return whether it can play `game`."""
        return self.package in {None, package_of(game)} and self.level <= len(ladder_of(game))

    def refusal(self, game: Game, game_type: str) -> str:
        """Return one line that says that it does not play `game`, which players call `game_type`."""
        refusal = f"the strategy {self.name} does not play {game_type}"
        return f"{refusal}: {levels_text(game)}" if self.level else refusal


def _description_of_level(number: int) -> str:
    description = f"stronger than {level_name(number - 1)}" if number > 1 else "the weakest level"
    if number == TIMED_LEVEL:
        other = f"{level_name(number)}{SECONDS_SIGN}0.5"
        description += f"; takes the time it is given: {USUAL_SECONDS:g} s of processor time a move, or {other}"
        description += " for 0.5 s (Blokus only)"
    return description


_KINDS = (
    StrategyKind("first", "always the first legal move", first_move),
    StrategyKind("random", "any legal move", random_move),
    StrategyKind(
        "greedy",
        "the move that looks best at first sight (Blokus: the largest piece, with the most corners to continue from; "
        "Hase und Igel: the fastest way to the goal that the carrots allow)",
        greedy_move,
    ),
    *(
        StrategyKind(f"hui-{name}", f"{name}, for this one game only", choose, package="hase_und_igel", is_alias=True)
        for name, choose in (("random", random_move), ("greedy", greedy_move))
    ),
    *(
        StrategyKind(
            level_name(number),
            _description_of_level(number),
            chooser_of_level(number),
            level=number,
            takes_time=number == TIMED_LEVEL,
        )
        for number in LEVEL_NUMBERS
    ),
    StrategyKind("illegal", "a move against the rules", illegal_move, is_bad=True),
    StrategyKind("slow", "any legal move, too late", is_bad=True, is_late=True),
    StrategyKind("crash", "breaks the connection when a move is requested", is_bad=True),
    StrategyKind("garbage", "answers with broken XML", is_bad=True),
    StrategyKind("silent", "never answers", is_bad=True, is_late=True),
)

STRATEGIES: Final[Mapping[str, StrategyKind]] = MappingProxyType({kind.name: kind for kind in _KINDS})
"""The built-in strategies by name, the good ones first.

    for name, strategy in STRATEGIES.items():
        print(name, strategy.description)
"""


def strategy_called(name: str) -> StrategyKind | None:
    """Return the strategy called `name`; None if there is none.

    The name of a level that takes the time that it is given may end with the processor time for a move, in seconds:

        strategy_called("level-9@0.5")
    """
    base, sign, seconds = name.partition(SECONDS_SIGN)
    kind = STRATEGIES.get(base)
    if kind is None or not sign:
        return kind
    if not kind.takes_time or not _SECONDS.fullmatch(seconds) or not MIN_SECONDS <= float(seconds) <= MAX_SECONDS:
        return None
    return replace(kind, name=name, choose=chooser_of_level(kind.level, float(seconds)))


def seconds_problem(name: str) -> str:
    """Return what is expected instead of the seconds in `name`, in words; empty if it does not name such a level."""
    base, sign, _ = name.partition(SECONDS_SIGN)
    if not sign or base not in STRATEGIES:
        return ""
    if not STRATEGIES[base].takes_time:
        return f"expected {base}, which takes no time after {SECONDS_SIGN}"
    timed = base + SECONDS_SIGN
    return f"expected {timed} with {MIN_SECONDS:g} to {MAX_SECONDS:g} seconds, such as {timed}0.5"


def make_chooser(name: str, *, seed: int | None = None) -> Callable[[State], Move]:
    """Return what chooses the moves of the strategy called `name`, as a function of a position.

    With a `seed`, it chooses the same moves in every run; with None, different ones. Raises KeyError for an unknown
    name, and for a strategy that does more than choose moves.
    """
    kind, rng = strategy_called(name), random.Random(seed)
    if kind is None or kind.choose is None:
        raise KeyError(name)
    choose = kind.choose
    return lambda state: choose(state, rng)
