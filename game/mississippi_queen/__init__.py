"""Mississippi Queen, the game of 2024: a race of two paddle steamers on a river that is revealed as they go.

The names below are the public interface. `MISSISSIPPI_QUEEN_2024` is the game as `spielleiter.game.api.Game` describes
it; it makes positions (`MississippiQueenState`), in which moves (`MississippiQueenMove`, a sequence of actions) are
checked, generated and played.

>>> import random
>>> state = MISSISSIPPI_QUEEN_2024.new_state(random.Random(1))
>>> ship = state.ships[0]
>>> ship.position, ship.direction.name, ship.speed, ship.coal
(Hex(q=-1, r=-1), 'RIGHT', 1, 6)
>>> state.check(MississippiQueenMove((Advance(2),))).value
'not enough movement points to advance'
>>> after = state.play(MississippiQueenMove((Accelerate(1), Advance(2))))
>>> after.ships[0].position, after.ships[0].speed, after.ships[0].coal
(Hex(q=1, r=-1), 2, 6)
>>> len(after.river.segments), len(after.as_seen().river.segments)
(8, 2)
"""

from __future__ import annotations

from spielleiter.game.mississippi_queen.river import (
    COLUMNS,
    OPPOSITE,
    ROWS,
    SEGMENTS,
    Cell,
    Direction,
    Field,
    Hex,
    Pier,
    River,
    Segment,
    Terrain,
    generate_river,
)
from spielleiter.game.mississippi_queen.rules import (
    MAX_SPEED,
    MIN_SPEED,
    Accelerate,
    Action,
    Advance,
    MississippiQueenMistake,
    MississippiQueenMove,
    Progress,
    Push,
    Ship,
    Turn,
    carry_out,
)
from spielleiter.game.mississippi_queen.state import (
    FAR_AHEAD,
    GOAL,
    MISSISSIPPI_QUEEN_2024,
    PASSENGERS,
    POINTS,
    STUCK,
    TIE,
    MississippiQueenGame,
    MississippiQueenState,
)

__all__ = [
    "COLUMNS",
    "FAR_AHEAD",
    "GOAL",
    "MAX_SPEED",
    "MIN_SPEED",
    "MISSISSIPPI_QUEEN_2024",
    "OPPOSITE",
    "PASSENGERS",
    "POINTS",
    "ROWS",
    "SEGMENTS",
    "STUCK",
    "TIE",
    "Accelerate",
    "Action",
    "Advance",
    "Cell",
    "Direction",
    "Field",
    "Hex",
    "MississippiQueenGame",
    "MississippiQueenMistake",
    "MississippiQueenMove",
    "MississippiQueenState",
    "Pier",
    "Progress",
    "Push",
    "River",
    "Segment",
    "Ship",
    "Terrain",
    "Turn",
    "carry_out",
    "generate_river",
]
