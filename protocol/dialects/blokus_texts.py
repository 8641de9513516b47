"""The official server's German texts about the moves and broken rules of Blokus, byte for byte.

Invariants: the description of a move is that of `toString` in release 21.4.0. Sources: recorded packets, and the
classes of that release.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from spielleiter.game.api import Mistake, Move
from spielleiter.game.blokus.moves import BlokusMistake, IncompleteMove, IncompletePiece, SetMove, SkipMove
from spielleiter.game.blokus.pieces import Color

COLOR_NAMES: Final[Mapping[Color, str]] = {
    Color.BLUE: "Blau",
    Color.YELLOW: "Gelb",
    Color.RED: "Rot",
    Color.GREEN: "Grün",
}

MISTAKE_TEXTS: Final[Mapping[Mistake, str]] = {
    BlokusMistake.WRONG_COLOR: "Die Farbe des Zuges ist nicht an der Reihe",
    BlokusMistake.WRONG_SHAPE: "Der erste Zug muss den festgelegten Spielstein setzen",
    BlokusMistake.DUPLICATE_SHAPE: "Der gewählte Stein wurde bereits gesetzt",
    BlokusMistake.OUT_OF_BOUNDS: "Der Spielstein passt nicht vollständig auf das Spielfeld",
    BlokusMistake.OBSTRUCTED: "Der Spielstein würde eine andere Farbe überlagern",
    BlokusMistake.TOUCHES_SAME_COLOR: "Der Spielstein berührt ein Feld gleicher Farbe",
    BlokusMistake.NOT_IN_CORNER: "Der erste Zug muss auf eine freie Ecke gesetzt werden",
    BlokusMistake.NOT_ON_BORDER: "Der erste Zug muss an den Rand gesetzt werden",
    BlokusMistake.NO_SHARED_CORNER: (
        "Alle Teile müssen ein vorheriges Teil gleicher Farbe über mindestens eine Ecke berühren"
    ),
    BlokusMistake.SKIP_FIRST_TURN: "Der erste Zug muss einen Stein setzen",
}

MISTAKES_WITHOUT_MOVE: Final[frozenset[Mistake]] = frozenset({BlokusMistake.WRONG_SHAPE, BlokusMistake.DUPLICATE_SHAPE})
"""The mistakes that the official rules report without naming the move."""


def describe_move(move: Move | None) -> str:
    """Return what `toString` returns for a move in the official server; `null` for None.

    >>> describe_move(SkipMove(Color.RED))
    'Farbe Rot setzt aus'
    >>> describe_move(SkipMove())
    'null setzt aus'
    """
    if isinstance(move, SetMove):
        return f"Setze {_describe_piece(move)}"
    if isinstance(move, SkipMove):
        return f"{_describe_color(move.color)} setzt aus"
    if isinstance(move, IncompleteMove):
        if move.is_skip:
            return describe_move(SkipMove())
        return f"Setze {'null' if move.piece is None else _describe_piece(move.piece)}"
    return "null"


def _describe_piece(piece: SetMove | IncompletePiece) -> str:
    turned = f", gedreht um {piece.rotation * 90}°" if piece.rotation else ""
    flipped = ", gespiegelt" if piece.is_flipped else ""
    shape = "null" if piece.shape is None else piece.shape.name
    return f"{shape}({_describe_color(piece.color)}{turned}{flipped})[{piece.x},{piece.y}]"


def _describe_color(color: Color | None) -> str:
    return "null" if color is None else f"Farbe {COLOR_NAMES[color]}"
