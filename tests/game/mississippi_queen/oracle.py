"""Reading the positions, moves and verdicts recorded from the rule code of release 24.2.5 (see data/README.md).

Invariants: this module contains no rules; it only converts between texts and values. Positions and moves are read by
the dialect, but for what cannot be seen of the river.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias
from xml.etree import ElementTree as ET

from spielleiter.game.mississippi_queen import (
    MississippiQueenMistake,
    MississippiQueenMove,
    MississippiQueenState,
)
from spielleiter.protocol.dialect import Reading
from spielleiter.protocol.dialects.mississippi_queen_2024 import MISSISSIPPI_QUEEN_2024 as DIALECT
from spielleiter.protocol.dialects.mississippi_queen_2024 import read_memento, read_move
from spielleiter.protocol.messages import Memento, MoveData
from spielleiter.protocol.values import UnreadableError
from spielleiter.protocol.writer import element
from tests.game.mississippi_queen.hidden import with_hidden

Line: TypeAlias = dict[str, Any]

DATA: Final = Path(__file__).parent / "data"
_UNREADABLE: Final = "com.thoughtworks.xstream."

NAMES: Final = {
    MississippiQueenMistake.NO_ACTIONS: "MoveMistake.NO_ACTIONS",
    MississippiQueenMistake.PUSH_REQUIRED: "MoveMistake.PUSH_ACTION_REQUIRED",
    MississippiQueenMistake.ACCELERATE_FIRST: "MoveMistake.FIRST_ACTION_ACCELERATE",
    MississippiQueenMistake.MOVEMENT_LEFT: "MoveMistake.MOVEMENT_POINTS_LEFT",
    MississippiQueenMistake.ACCELERATE_BY_ZERO: "AccelerationProblem.ZERO_ACC",
    MississippiQueenMistake.ABOVE_MAX_SPEED: "AccelerationProblem.ABOVE_MAX_SPEED",
    MississippiQueenMistake.BELOW_MIN_SPEED: "AccelerationProblem.BELOW_MIN_SPEED",
    MississippiQueenMistake.ACCELERATE_ON_SANDBANK: "AccelerationProblem.ON_SANDBANK",
    MississippiQueenMistake.ACCELERATE_WITHOUT_COAL: "AccelerationProblem.INSUFFICIENT_COAL",
    MississippiQueenMistake.TURN_ON_SANDBANK: "TurnProblem.ROTATION_ON_SANDBANK_NOT_ALLOWED",
    MississippiQueenMistake.TURN_WITHOUT_COAL: "TurnProblem.NOT_ENOUGH_COAL_FOR_ROTATION",
    MississippiQueenMistake.BAD_DISTANCE: "AdvanceProblem.INVALID_DISTANCE",
    MississippiQueenMistake.ADVANCE_WITHOUT_MOVEMENT: "AdvanceProblem.MOVEMENT_POINTS_MISSING",
    MississippiQueenMistake.NO_MOVEMENT_FOR_PUSH: "AdvanceProblem.INSUFFICIENT_PUSH",
    MississippiQueenMistake.SHIP_IN_THE_WAY: "AdvanceProblem.SHIP_ALREADY_IN_TARGET",
    MississippiQueenMistake.FIELD_BLOCKED: "AdvanceProblem.FIELD_IS_BLOCKED",
    MississippiQueenMistake.SANDBANK_IN_THE_WAY: "AdvanceProblem.MOVE_END_ON_SANDBANK",
    MississippiQueenMistake.PUSH_WITHOUT_MOVEMENT: "PushProblem.MOVEMENT_POINTS_MISSING",
    MississippiQueenMistake.PUSH_FROM_AFAR: "PushProblem.SAME_FIELD_PUSH",
    MississippiQueenMistake.PUSH_OFF_THE_RIVER: "PushProblem.INVALID_FIELD_PUSH",
    MississippiQueenMistake.PUSH_ONTO_BLOCKED: "PushProblem.BLOCKED_FIELD_PUSH",
    MississippiQueenMistake.PUSH_FROM_SANDBANK: "PushProblem.SANDBANK_PUSH",
    MississippiQueenMistake.PUSH_BACKWARDS: "PushProblem.BACKWARD_PUSHING_RESTRICTED",
}
"""The names of the mistakes in the release."""

REASONS: Final = {
    "GOAL": "goal",
    "STUCK": "stuck",
    "SEGMENT_DISTANCE": "far_ahead",
    "DIFFERING_SCORES": "points",
    "DIFFERING_PASSENGERS": "passengers",
    "WinReasonTie": "tie",
}


def read_lines(path: Path) -> Iterator[Line]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _strict() -> Reading:
    return Reading(DIALECT, lambda _text: None)


def parse_move(text: str) -> MississippiQueenMove | None:
    """Return the move, or None if it cannot be read."""
    try:
        found = read_move(ET.fromstring(text), _strict()).move
    except UnreadableError:
        return None
    assert isinstance(found, MississippiQueenMove)
    return found


def parse_seen_state(text: str) -> MississippiQueenState:
    state = read_memento(ET.fromstring(f"<data>{text}</data>"), _strict()).state
    assert isinstance(state, MississippiQueenState)
    return state


def parse_state(line: Line) -> MississippiQueenState:
    """Return the first position of a game, with its whole river."""
    return with_hidden(parse_seen_state(line["state"]), line["exact"])


def state_text(state: MississippiQueenState) -> str:
    """Return the position as the release writes it, without the indent of its first line."""
    return DIALECT.data_body(Memento(state), "\n      ").children.lstrip()


def move_text(move: MississippiQueenMove) -> str:
    """Return the move as one line."""
    body = DIALECT.data_body(MoveData(move), "")
    return element("", "data", ' class="move"', body.children).replace("  ", "")


def is_unreadable(verdict: str) -> bool:
    return verdict.startswith(_UNREADABLE)
