"""What differs between the editions of Blokus, as values, and the games made of them.

Law: nothing in the rules asks which edition is played; whatever differs is a field of `Ruleset`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from spielleiter.game.api import GameError, GameOptionError, State
from spielleiter.game.blokus.bitboard import BORDER, CORNERS
from spielleiter.game.blokus.move import BlokusMistake
from spielleiter.game.blokus.polyomino import PENTOMINOES, Shape
from spielleiter.game.blokus.ruleset import Ruleset
from spielleiter.game.blokus.state import BlokusState

_T = TypeVar("_T")


RULES_2021: Final = Ruleset(
    name="blokus-2021",
    start_shapes=tuple(shape for shape in PENTOMINOES if shape is not Shape.PENTO_X),
    first_piece_mask=CORNERS,
    first_piece_mistake=BlokusMistake.NOT_IN_CORNER,
    round_limit=25,
    ends_with_finished_color=True,
)
"""Rules text of the season (its sentence on a finished colour included) and, where that is silent, release 21.4.0."""

RULES_2027: Final = Ruleset(
    name="blokus-2027",
    start_shapes=PENTOMINOES,
    first_piece_mask=BORDER,
    first_piece_mistake=BlokusMistake.NOT_ON_BORDER,
    round_limit=24,
    ends_with_finished_color=False,
)
"""Release 27.0.4."""

_GAME_ENDS: Final = {"colorFinished": True, "noMovesLeft": False}
"""Values of the option `gameEnd` and what they make of `ends_with_finished_color`."""


@dataclass(frozen=True, slots=True)
class BlokusGame:
    """A rule set with the options chosen for it; satisfies `spielleiter.game.api.Game`."""

    rules: Ruleset
    start_shape: Shape | None = None
    """None: drawn anew for every game."""

    @property
    def name(self) -> str:
        """The rule set's name."""
        return self.rules.name

    @property
    def option_names(self) -> frozenset[str]:
        """`startPiece`: the name of a start piece; `gameEnd`: `colorFinished` or `noMovesLeft`."""
        return frozenset({"startPiece", "gameEnd"})

    def with_options(self, options: Mapping[str, str]) -> BlokusGame:
        """The same game with the options that are named set, the others left as they were.

        Raises GameOptionError for a value it does not know; the text names the known ones.
        """
        game = self
        if (start_piece := options.get("startPiece")) is not None:
            known_shapes = {shape.name: shape for shape in self.rules.start_shapes}
            game = replace(game, start_shape=_choose("startPiece", start_piece, known_shapes))
        if (game_end := options.get("gameEnd")) is not None:
            rules = replace(self.rules, ends_with_finished_color=_choose("gameEnd", game_end, _GAME_ENDS))
            game = replace(game, rules=rules)
        return game

    def new_state(self, rng: random.Random) -> BlokusState:
        """The empty board with the chosen start piece, or one drawn with `rng`."""
        start_shape = rng.choice(self.rules.start_shapes) if self.start_shape is None else self.start_shape
        return BlokusState(self.rules, start_shape)

    def resume(self, state: State) -> BlokusState:
        """The same position under this game's rules and options; its start piece stays.

        Raises GameError for a position of another game or of another edition.
        """
        if not isinstance(state, BlokusState) or state.rules.name != self.rules.name:
            raise GameError(f"not a position of {self.name}: {state!r}")
        return replace(state, rules=self.rules)


def _choose(option: str, value: str, known: Mapping[str, _T]) -> _T:
    try:
        return known[value]
    except KeyError:
        raise GameOptionError(f"{option}: {value!r} is not one of {', '.join(known)}", known) from None


BLOKUS_2021: Final = BlokusGame(RULES_2021)
BLOKUS_2027: Final = BlokusGame(RULES_2027)
