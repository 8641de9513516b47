"""Blokus for two players with two colours each: positions, moves, and the rules of the seasons.

The names below are the public interface. `BLOKUS_2021` and `BLOKUS_2027` are the games as `spielleiter.game.api.Game`
describes them; each makes positions (`BlokusState`), in which moves (`SetMove`, `SkipMove`) are checked, generated and
played.

>>> import random
>>> game = BLOKUS_2021.with_options({"startPiece": "PENTO_V"})
>>> state = game.new_state(random.Random(1))
>>> state.color_on_turn, state.count_legal_moves()
(<Color.BLUE: 0>, 12)
>>> state.check(SetMove(Color.BLUE, Shape.PENTO_V, Rotation.NONE, is_flipped=False, x=8, y=8))
<BlokusMistake.NOT_IN_CORNER: 7>
>>> move = SetMove(Color.BLUE, Shape.PENTO_V, Rotation.NONE, is_flipped=False, x=0, y=0)
>>> after = state.play(move)
>>> after.color_on_turn, after.points(0)
(<Color.YELLOW: 1>, (5,))
"""

from __future__ import annotations

from spielleiter.game.blokus.moves import BlokusMistake, SetMove, SkipMove
from spielleiter.game.blokus.pieces import Color, Orientation, Rotation, Shape, orientation
from spielleiter.game.blokus.state import BLOKUS_2021, BLOKUS_2027, SEAT_OF_COLOR, BlokusGame, BlokusState, Ruleset

__all__ = [
    "BLOKUS_2021",
    "BLOKUS_2027",
    "SEAT_OF_COLOR",
    "BlokusGame",
    "BlokusMistake",
    "BlokusState",
    "Color",
    "Orientation",
    "Rotation",
    "Ruleset",
    "SetMove",
    "Shape",
    "SkipMove",
    "orientation",
]
