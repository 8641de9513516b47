"""The German texts about moves and broken rules of Blokus."""

from __future__ import annotations

import pytest

from spielleiter.game.api import Move
from spielleiter.game.blokus.moves import BlokusMistake, IncompleteMove, IncompletePiece, SetMove, SkipMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.protocol.dialects.blokus import COLOR_NAMES, MISTAKE_TEXTS, MISTAKES_WITHOUT_MOVE, describe_move


@pytest.mark.parametrize(
    ("move", "described"),
    [
        (SetMove(Color.BLUE, Shape.PENTO_U, Rotation.NONE, False, 7, 7), "Setze PENTO_U(Farbe Blau)[7,7]"),
        (
            SetMove(Color.YELLOW, Shape.TETRO_Z, Rotation.RIGHT, True, -1, 20),
            "Setze TETRO_Z(Farbe Gelb, gedreht um 90°, gespiegelt)[-1,20]",
        ),
        (
            SetMove(Color.RED, Shape.MONO, Rotation.MIRROR, False, 0, 0),
            "Setze MONO(Farbe Rot, gedreht um 180°)[0,0]",
        ),
        (SetMove(Color.GREEN, Shape.MONO, Rotation.NONE, True, 0, 0), "Setze MONO(Farbe Grün, gespiegelt)[0,0]"),
        (
            SetMove(Color.GREEN, Shape.MONO, Rotation.LEFT, False, 0, 0),
            "Setze MONO(Farbe Grün, gedreht um 270°)[0,0]",
        ),
        (SkipMove(Color.RED), "Farbe Rot setzt aus"),
        (SkipMove(), "null setzt aus"),
        (IncompleteMove(is_skip=True), "null setzt aus"),
        (IncompleteMove(), "Setze null"),
        (
            IncompleteMove(IncompletePiece(None, None, Rotation.LEFT, True, 3, -4)),
            "Setze null(null, gedreht um 270°, gespiegelt)[3,-4]",
        ),
        (
            IncompleteMove(IncompletePiece(Color.RED, None, Rotation.NONE, False, 0, 0)),
            "Setze null(Farbe Rot)[0,0]",
        ),
        (
            IncompleteMove(IncompletePiece(None, Shape.MONO, Rotation.NONE, False, 0, 0)),
            "Setze MONO(null)[0,0]",
        ),
        (None, "null"),
    ],
)
def test_moves(move: Move | None, described: str) -> None:
    assert describe_move(move) == described


def test_every_colour_has_a_name() -> None:
    assert [COLOR_NAMES[color] for color in Color] == ["Blau", "Gelb", "Rot", "Grün"]


def test_every_mistake_has_a_text_of_its_own() -> None:
    assert set(MISTAKE_TEXTS) == set(BlokusMistake)
    assert len(set(MISTAKE_TEXTS.values())) == len(BlokusMistake)
    assert set(BlokusMistake) > MISTAKES_WITHOUT_MOVE
