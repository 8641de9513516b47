"""The moves of Blokus as the releases read them. What follows for a game is tested in test_release_strictness.py."""

from __future__ import annotations

from typing import Final

import pytest

from spielleiter.game.api import Move
from spielleiter.game.blokus.moves import IncompleteMove, IncompletePiece, SetMove, SkipMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_RELEASE
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.messages import MoveData, RoomMessage, UnreadableData
from tests.protocol.seasons import decode

DIALECTS: Final = {"sc.plugin2027": BLOKUS_2027, "sc.plugin2021": BLOKUS_2021_RELEASE}
COORDINATES: Final = {"sc.plugin2027": "sc.api.plugins.Coordinates", "sc.plugin2021": "sc.plugin2021.Coordinates"}

packages = pytest.mark.parametrize("package", DIALECTS)


def room(package: str, name: str, content: str) -> str:
    return f'<room roomId="r"><data class="{package}.{name}">{content}</data></room>'


PIECE: Final = '<piece color="RED" kind="MONO" rotation="LEFT" isFlipped="TRUE"><position x="0x10" y="-1"/></piece>'
MOVE: Final = SetMove(Color.RED, Shape.MONO, Rotation.LEFT, True, 16, -1)
HALF: Final = '<piece rotation="LEFT"><position/></piece>'


@packages
@pytest.mark.parametrize(
    ("name", "content", "move"),
    [
        ("SetMove", PIECE, MOVE),
        ("SetMove", PIECE.replace("<piece ", '<piece class="PACKAGE.Piece" '), MOVE),
        ("SetMove", PIECE.replace("<position ", '<position class="COORDINATES" '), MOVE),
        ("SetMove", PIECE.replace("</piece>", "<_shape><x/></_shape></piece>"), MOVE),
        ("SkipMove", "<color>red</color>", SkipMove(Color.RED)),
        ("SkipMove", '<color class="PACKAGE.Color">RED</color>', SkipMove(Color.RED)),
        ("SkipMove", "", IncompleteMove(is_skip=True)),
        ("SetMove", "", IncompleteMove()),
        ("SetMove", HALF, IncompleteMove(IncompletePiece(None, None, Rotation.LEFT, False, 0, 0))),
        (
            "SetMove",
            HALF.replace("<piece", '<piece color="RED"'),
            IncompleteMove(IncompletePiece(Color.RED, None, Rotation.LEFT, False, 0, 0)),
        ),
    ],
)
def test_moves(package: str, name: str, content: str, move: Move) -> None:
    content = content.replace("PACKAGE", package).replace("COORDINATES", COORDINATES[package])
    message = decode(DIALECTS[package], room(package, name, content))
    assert isinstance(message, RoomMessage)
    assert isinstance(message.data, MoveData)
    assert message.data.move == move
    assert (message.data.problem is not None) is isinstance(move, IncompleteMove)


@packages
@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("SkipMove", "", "im Element data fehlt das Element color"),
        ("SetMove", "", "im Element data fehlt das Element piece"),
        ("SetMove", HALF, "im Element piece fehlt das Attribut color; erlaubt: BLUE, YELLOW, RED, GREEN"),
        (
            "SetMove",
            HALF.replace("<piece", '<piece color="RED"'),
            f"im Element piece fehlt das Attribut kind; erlaubt: {', '.join(Shape.__members__)}",
        ),
    ],
)
def test_what_is_missing_is_named(package: str, name: str, content: str, problem: str) -> None:
    message = decode(DIALECTS[package], room(package, name, content))
    assert isinstance(message, RoomMessage)
    assert isinstance(message.data, MoveData)
    assert message.data.problem == problem


@packages
@pytest.mark.parametrize(
    ("content", "refusal", "problem"),
    [
        ("<piece/>", Refusal.INCOMPLETE_PACKET, "im Element piece fehlt das Attribut rotation; erlaubt: NONE, RIGHT, "),
        (PIECE.replace("position", "place"), Refusal.UNREADABLE_PACKET, "unbekanntes Element <place> in <piece>"),
        ('<piece rotation="NONE"/>', Refusal.INCOMPLETE_PACKET, "im Element piece fehlt das Element position"),
        (PIECE.replace("RED", "red"), Refusal.UNREADABLE_PACKET, 'piece color="red" gibt es nicht; erlaubt: BLUE'),
    ],
)
def test_moves_that_cannot_be_read(package: str, content: str, refusal: Refusal, problem: str) -> None:
    with pytest.raises(RemoteProtocolError) as error:
        decode(DIALECTS[package], room(package, "SetMove", content))
    assert error.value.refusal is refusal
    assert str(error.value).startswith(f"<room> cannot be read: {problem}")
    original = error.value.original
    assert isinstance(original, RoomMessage)
    assert isinstance(original.data, UnreadableData)
    assert original.data.is_incomplete is (refusal is Refusal.INCOMPLETE_PACKET)


@packages
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("SkipMove", ""),
        ("SetMove", ""),
        ("SetMove", HALF),
        ("SetMove", HALF.replace("<piece", '<piece color="RED"')),
        ("SetMove", HALF.replace("<piece", '<piece kind="MONO"')),
    ],
)
def test_an_incomplete_move_is_written_as_far_as_it_goes(package: str, name: str, content: str) -> None:
    dialect: Dialect = DIALECTS[package]
    message = decode(dialect, room(package, name, content))
    written = dialect.encode(message)
    assert decode(dialect, written.strip()) == message
    assert (b"null" in written, b"None" in written) == (False, False)


@packages
def test_hints_are_not_written(package: str) -> None:
    dialect = DIALECTS[package]
    move = SkipMove(Color.RED)
    assert dialect.encode(RoomMessage("r", MoveData(move, ("depth 3",)))) == dialect.encode(
        RoomMessage("r", MoveData(move))
    )
