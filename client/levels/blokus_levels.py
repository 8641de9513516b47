"""The levels of Blokus, for all of its seasons.

Invariants: a level is its settings. All levels have the same evaluation; the lower ones choose with noise, the higher
ones search. A search ends early when its budget is used up, which happens only on a machine that is very slow or busy.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import exp
from typing import Final

from spielleiter.client.errors import StrategyError
from spielleiter.client.levels.blokus_evaluation import RatedMove, rate_moves
from spielleiter.client.levels.blokus_search import SearchSettings, search
from spielleiter.client.levels.budget import SearchBudget
from spielleiter.client.levels.level import Level
from spielleiter.game.blokus.moves import SetMove
from spielleiter.game.blokus.state import BlokusState


@dataclass(frozen=True, slots=True)
class BlokusSettings:
    """What makes a level.

    - `temperature`: the noise of the choice, in points: a move that is worth this much less than another one is chosen
      with 1/e of its probability. 0: the best move.
    - `search`: how much it searches; None: it takes the evaluation of the position after each move.
    """

    temperature: float = 0.0
    search: SearchSettings | None = None


def choose_move(
    settings: BlokusSettings,
    state: BlokusState,
    rng: random.Random,
    budget: SearchBudget | None = None,
) -> SetMove:
    """Return a move; see `BlokusSettings`. Raises StrategyError if there is none.

    `budget` is the time for it; None: the usual one.
    """
    budget = budget or SearchBudget()
    rated: Sequence[RatedMove] = rate_moves(state)
    if not rated:
        raise StrategyError(f"a move was requested at turn {state.turn}, but no move is possible")
    if settings.search is not None:
        rated = search(state, rated, settings.search, rng, budget.is_used_up)
    return draw(rated, settings.temperature, rng).set_move(state)


def draw(rated: Sequence[RatedMove], temperature: float, rng: random.Random) -> RatedMove:
    """Return a move drawn with the probabilities that `temperature` gives to the values."""
    best = max(each.value for each in rated)
    if temperature == 0:
        return rng.choice([each for each in rated if each.value == best])
    return rng.choices(rated, [exp((each.value - best) / temperature) for each in rated])[0]


def _described(settings: BlokusSettings) -> str:
    parts = ["counts the cells that each colour can reach"]
    if settings.search is not None:
        searched = settings.search
        lines = ", then ".join(map(str, searched.rounds))
        parts.append(
            f"follows its {searched.width} best moves for {searched.turns} turns, {lines} times each, "
            f"with samples of {searched.sample} moves"
        )
    if settings.temperature:
        parts.append(f"noise of {settings.temperature:g} points")
    return "; ".join(parts)


SETTINGS: Final = (
    BlokusSettings(temperature=0.62),
    BlokusSettings(temperature=0.45),
    BlokusSettings(temperature=0.28),
    BlokusSettings(temperature=0.0),
    BlokusSettings(search=SearchSettings(width=3, rounds=(1,), turns=4, sample=16)),
    BlokusSettings(search=SearchSettings(width=4, rounds=(1, 2), turns=8, sample=32)),
    BlokusSettings(search=SearchSettings(width=6, rounds=(2, 4), turns=12, sample=48)),
    BlokusSettings(search=SearchSettings(width=16, rounds=(2, 4, 6, 12), turns=12, sample=48)),
)
"""The settings of each level, the weakest first."""

BLOKUS_LEVELS: Final = tuple(Level(_described(each), partial(choose_move, each)) for each in SETTINGS)
"""The levels of Blokus, the weakest first."""
