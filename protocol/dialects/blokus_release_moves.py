"""Reads the moves of Blokus exactly as the official releases do.

Invariants: those of `spielleiter.protocol.object_form`. A move with a missing part is an `IncompleteMove` if the
release can still name it in its messages. Without rotation or position it fails as soon as it names the move, so such a
move is unreadable. Source: releases 21.4.0 and 27.0.4.
"""

from __future__ import annotations

from typing import Any

from spielleiter.game.blokus.moves import IncompleteMove, IncompletePiece, SetMove, SkipMove
from spielleiter.protocol.dialect import DataReader, Reading
from spielleiter.protocol.dialects.blokus import COLORS, ROTATIONS, SHAPES
from spielleiter.protocol.messages import MoveData
from spielleiter.protocol.object_form import BOOLEAN, INTEGER, ObjectForm, enumeration, read_fields
from spielleiter.protocol.reading import Element, UnreadableError, allowed


def release_move_readers(package: str, coordinates: str) -> dict[str, DataReader]:
    """Return the readers of a season's moves, by class.

    `package` is the Java package of these classes in the official server, and `coordinates` the class of a position.
    """
    color_names = ("color", f"{package}.Color")
    position = ObjectForm(frozenset({"coordinates", coordinates}), {"x": INTEGER, "y": INTEGER})
    piece = ObjectForm(
        frozenset({"piece", f"{package}.Piece"}),
        {
            "color": enumeration(COLORS, *color_names),
            "kind": enumeration(SHAPES, "shape", f"{package}.PieceShape"),
            "rotation": enumeration(ROTATIONS, "rotation", f"{package}.Rotation"),
            "isFlipped": BOOLEAN,
            "position": position,
        },
        ignored=frozenset({"_shape", "_coordinates"}),
    )
    set_class, skip_class = f"{package}.SetMove", f"{package}.SkipMove"
    set_form = ObjectForm(frozenset({set_class}), {"piece": piece})
    skip_form = ObjectForm(frozenset({skip_class}), {"color": enumeration(COLORS, *color_names, is_attribute=False)})

    def read_set_move(data: Element, reading: Reading) -> MoveData:
        return _set_move(read_fields(data, set_form, reading).get("piece"), data.tag)

    def read_skip_move(data: Element, reading: Reading) -> MoveData:
        color = read_fields(data, skip_form, reading).get("color")
        if color is None:
            return MoveData(IncompleteMove(is_skip=True), problem=f"im Element {data.tag} fehlt das Element color")
        return MoveData(SkipMove(color))

    return {set_class: read_set_move, skip_class: read_skip_move}


def _set_move(piece: dict[str, Any] | None, tag: str) -> MoveData:
    if piece is None:
        return MoveData(IncompleteMove(), problem=f"im Element {tag} fehlt das Element piece")
    rotation, position = piece.get("rotation"), piece.get("position")
    if rotation is None:
        problem = f"im Element piece fehlt das Attribut rotation; {allowed(ROTATIONS)}"
        raise UnreadableError(problem, is_incomplete=True)
    if position is None:
        raise UnreadableError("im Element piece fehlt das Element position", is_incomplete=True)
    color, shape, is_flipped = piece.get("color"), piece.get("kind"), piece.get("isFlipped", False)
    x, y = position.get("x", 0), position.get("y", 0)
    if color is not None and shape is not None:
        return MoveData(SetMove(color, shape, rotation, is_flipped, x, y))
    missing = f"color; {allowed(COLORS)}" if color is None else f"kind; {allowed(SHAPES)}"
    problem = f"im Element piece fehlt das Attribut {missing}"
    return MoveData(IncompleteMove(IncompletePiece(color, shape, rotation, is_flipped, x, y)), problem=problem)
