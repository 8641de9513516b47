"""The rule sets of the seasons of Blokus, and the games made from them.

Invariants: a `BlokusGame` is a value; choosing an option makes another one.
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
"""The season's rules text (including its sentence on a finished colour) and, where it says nothing, release 21.4.0."""

RULES_2027: Final = Ruleset(
    name="blokus-2027",
    start_shapes=PENTOMINOES,
    first_piece_mask=BORDER,
    first_piece_mistake=BlokusMistake.NOT_ON_BORDER,
    round_limit=24,
    ends_with_finished_color=False,
)
"""The rules as release 27.0.4 implements them."""

_GAME_ENDS: Final = {
    RULES_2021.name: {"colorFinished": RULES_2021, "noMovesLeft": replace(RULES_2021, ends_with_finished_color=False)},
    RULES_2027.name: {
        "colorFinished": replace(RULES_2027, round_limit=25, ends_with_finished_color=True),
        "noMovesLeft": RULES_2027,
    },
}
"""For each season the values of the option `gameEnd`, and the rules whose end of the game each one stands for.

`colorFinished` is the end according to the season's published rules, `noMovesLeft` that of its release.
"""


@dataclass(frozen=True, slots=True)
class BlokusGame:
    """A rule set with its options; implements `spielleiter.game.api.Game`.

    >>> BLOKUS_2027.with_options({"startPiece": "MONO"})
    Traceback (most recent call last):
    ...
    spielleiter.game.api.GameOptionError: startPiece: 'MONO' is not one of PENTO_L, PENTO_T, ...
    """

    rules: Ruleset
    start_shape: Shape | None = None
    """The piece that every colour must place first. None: it is drawn for each game."""

    @property
    def name(self) -> str:
        """The name of the rule set."""
        return self.rules.name

    @property
    def option_names(self) -> frozenset[str]:
        """`startPiece` (the name of a start piece) and `gameEnd` (`colorFinished` or `noMovesLeft`)."""
        return frozenset({"startPiece", "gameEnd"})

    def with_options(self, options: Mapping[str, str]) -> BlokusGame:
        """Return the same game with `options` (name to value) set. Options that are not given keep their values.

        Raises GameOptionError for a value that is not allowed; the message names the allowed ones.
        """
        game = self
        if (start_piece := options.get("startPiece")) is not None:
            known_shapes = {shape.name: shape for shape in self.rules.start_shapes}
            game = replace(game, start_shape=_choose("startPiece", start_piece, known_shapes))
        if (game_end := options.get("gameEnd")) is not None:
            chosen = _choose("gameEnd", game_end, _GAME_ENDS[self.rules.name])
            rules = replace(
                self.rules,
                round_limit=chosen.round_limit,
                ends_with_finished_color=chosen.ends_with_finished_color,
            )
            game = replace(game, rules=rules)
        return game

    def new_state(self, rng: random.Random) -> BlokusState:
        """Return the empty board. The start piece is the one chosen by option, or is drawn with `rng`."""
        start_shape = rng.choice(self.rules.start_shapes) if self.start_shape is None else self.start_shape
        return BlokusState(self.rules, start_shape)

    def resume(self, state: State) -> BlokusState:
        """Return the position `state` under the rules and options of this game. It keeps its start piece.

        Raises GameError for a position of another game or of another season.
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
