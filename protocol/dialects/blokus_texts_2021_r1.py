"""The texts about Blokus of the first releases of the season 2021: in English, with the cell or piece in question.

Invariants: the texts are those of release 21.1.0. The rules decide which mistake is reported, and a text names the cell
that caused it. Sources: recorded packets, and the classes of that release.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from spielleiter.game.api import Mistake, Move, Seat, State
from spielleiter.game.blokus.moves import BlokusMistake, SetMove, SkipMove
from spielleiter.game.blokus.pieces import SIZE, Cell, bit, edge_neighbors, hash_order, orientation
from spielleiter.game.blokus.state import BlokusState
from spielleiter.protocol.dialects.blokus_texts import MISTAKE_TEXTS, MISTAKES_WITHOUT_MOVE
from spielleiter.protocol.messages import RoomData, UnreadableData
from spielleiter.protocol.texts import (
    LEFT_REASON,
    MoveRefusal,
    Texts,
    invalid_move_error,
    release_texts,
    unreadable_reason,
)

_TEAM_NAMES: Final = ("Player One", "Player Two")
_NOT_REQUESTED: Final = "We didn't request a data from you yet."


def describe_move(move: Move | None) -> str:
    """Return what `toString` returns for a move in that release.

    >>> from spielleiter.game.blokus import Color
    >>> describe_move(SkipMove(Color.RED))
    'RED skipped'
    """
    if isinstance(move, SetMove):
        flipped = " (flipped)" if move.is_flipped else ""
        return f"{move.color.name} Piece {move.shape.name}:{move.rotation.value}{flipped} [{move.x},{move.y}]"
    if isinstance(move, SkipMove):
        return f"{'null' if move.color is None else move.color.name} skipped"
    return "null"


_GERMAN: Final = release_texts(
    mistake_texts=MISTAKE_TEXTS,
    mistakes_without_move=MISTAKES_WITHOUT_MOVE,
    describe_move=describe_move,
    team_names=_TEAM_NAMES,
)
"""The texts of later releases, for the cases in which these releases sent none. They appear only in logs."""


def explain_mistake(mistake: Mistake, move: Move, state: State) -> str:
    """Return the text about `move`, in which the rules have found `mistake`; `state` is the position before it."""
    assert isinstance(state, BlokusState)
    if isinstance(move, SkipMove):
        if mistake is BlokusMistake.SKIP_FIRST_TURN:
            return f"Can't Skip on first round; move was {describe_move(SkipMove(state.color_on_turn))}"
        return f"Expected move from {state.color_on_turn.name}; move was {describe_move(move)}"
    assert isinstance(move, SetMove)
    if mistake is BlokusMistake.WRONG_SHAPE:
        return f"{move.shape.name} is not the requested first shape, {state.start_shape.name}"
    if mistake is BlokusMistake.DUPLICATE_SHAPE:
        return f"Piece {move.shape.name} has already been placed before"
    return f"{_explain_placement(mistake, move, state)}; move was {describe_move(move)}"


def _explain_placement(mistake: Mistake, move: SetMove, state: BlokusState) -> str:
    if mistake is BlokusMistake.WRONG_COLOR:
        return f"Expected move from {state.color_on_turn.name}"
    if mistake is BlokusMistake.NOT_IN_CORNER:
        return "The Piece isn't located in a corner"
    if mistake is BlokusMistake.NO_SHARED_CORNER:
        return f"{describe_move(move)} shares no corner with another piece of same color"
    x, y = _faulty_cell(move, state)
    if mistake is BlokusMistake.OUT_OF_BOUNDS:
        return f"Field [{x}, {y}] is out of bounds"
    owner = state.color_at(x, y)
    if owner is not None:
        return f"Field [{x}, {y}] already belongs to {owner.name}"
    return f"Field [{x}, {y}] already borders on {move.color.name}"


def _faulty_cell(move: SetMove, state: BlokusState) -> Cell:
    """Return the first cell that cannot be covered, in the order in which the rules check the cells."""
    piece = orientation(move.shape, move.rotation, move.is_flipped)
    own = state.cells[move.color]
    return next(
        (x, y)
        for x, y in hash_order((move.x + dx, move.y + dy) for dx, dy in piece.cells)
        if not (0 <= x < SIZE and 0 <= y < SIZE) or state.color_at(x, y) is not None or edge_neighbors(bit(x, y)) & own
    )


def _refuse_illegal(name: str, mistake: Mistake, move: Move, state: State) -> MoveRefusal:
    reason = explain_mistake(mistake, move, state)
    return MoveRefusal(reason, invalid_move_error(name, reason), reason, None, None)


def _refuse_unreadable(name: str, data: UnreadableData) -> MoveRefusal:
    reason = unreadable_reason(data.problem)
    return MoveRefusal(reason, invalid_move_error(name, reason), reason, None, None)


def _refuse_out_of_turn(
    _active: Seat | None, on_turn: Seat, actual: Seat, names: tuple[str, str], data: RoomData
) -> MoveRefusal:
    if actual == on_turn:
        error = _NOT_REQUESTED
    else:
        awaited, sender = (f"{_TEAM_NAMES[seat]}({names[seat]})" for seat in (on_turn, actual))
        sent = _GERMAN.describe_data(data)
        error = f"It's not your turn yet; expected: {awaited}, got: {sender} (msg was {sent})."
    return MoveRefusal(LEFT_REASON, error, error, None, data)


TEXTS: Final[Texts] = dataclasses.replace(
    _GERMAN, illegal=_refuse_illegal, unreadable=_refuse_unreadable, out_of_turn=_refuse_out_of_turn
)
