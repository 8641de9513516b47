"""The built-in levels that take part in a league with ratings that do not move, so that two years can be compared."""

from __future__ import annotations

from typing import Final

from spielleiter.game.api import package_of
from spielleiter.league.settings import Anchor
from spielleiter.players.choosers import ladder_of, level_name
from spielleiter.server.core.policy import Edition

LOWEST_RATING: Final = 1000.0
"""The rating of the lowest level."""
USUAL_STEP: Final = 100.0
"""The Elo by which a level is stronger than the one below it, as `benchmarks.ladder` measures it."""
_STEPS: Final = {"mississippi_queen": 200.0, "piranhas": 200.0}
"""The games whose levels are further apart, by the package of the game."""
_MOST: Final = 3


def default_anchors(edition: Edition) -> tuple[Anchor, ...]:
    """Return the lowest level, one in the middle and the highest of a game, or as many as it has; none without levels.

    A level that takes the time that it is given is none of them, since its strength depends on the machine.
    """
    numbers = [number for number, level in enumerate(ladder_of(edition.game), 1) if not level.takes_time]
    places = (round(place * (len(numbers) - 1) / (_MOST - 1)) for place in range(_MOST))
    chosen = sorted({numbers[place] for place in places} if numbers else ())
    step = _STEPS.get(package_of(edition.game), USUAL_STEP)
    return tuple(Anchor(f"builtin:{level_name(number)}", LOWEST_RATING + step * (number - 1)) for number in chosen)
