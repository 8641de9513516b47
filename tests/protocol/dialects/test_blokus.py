"""Reading and writing the moves of Blokus, and the exact errors. Positions are tested in test_blokus_position.py."""

from __future__ import annotations

import dataclasses
import random
from dataclasses import dataclass
from typing import cast

import pytest
from lxml import etree

from spielleiter.game.blokus.moves import SetMove, SkipMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.game.blokus.state import BLOKUS_2021, BlokusState
from spielleiter.game.hase_und_igel import HASE_UND_IGEL_2018
from spielleiter.protocol.dialects import blokus
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.errors import LocalProtocolError
from spielleiter.protocol.messages import MoveData, RoomData, RoomMessage, UnreadableData
from spielleiter.protocol.reading import Element

PIECE = '<piece color="BLUE" kind="PENTO_U" rotation="RIGHT" isFlipped="true"><position x="7" y="-1"/></piece>'
MOVE = SetMove(Color.BLUE, Shape.PENTO_U, Rotation.RIGHT, True, 7, -1)
COLORS = "BLUE, YELLOW, RED, GREEN"


def parse(text: str) -> Element:
    return cast("Element", etree.fromstring(text.strip()))


def read(class_name: str, children: str, notes: list[str] | None = None) -> RoomData | None:
    skipped: list[str] = [] if notes is None else notes
    packet = parse(f'<room roomId="r"><data class="{class_name}">{children}</data></room>')
    message = BLOKUS_2021_R3.decode(packet, skipped.append)
    assert isinstance(message, RoomMessage)
    assert notes is not None or not skipped
    return message.data


def read_set_move(children: str) -> RoomData | None:
    return read("sc.plugin2021.SetMove", children)


# -- moves ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("children", "move"),
    [
        (PIECE, MoveData(MOVE)),
        (PIECE.replace('"', "'"), MoveData(MOVE)),
        (PIECE.replace('"true"', '"True"'), MoveData(MOVE)),
        (
            PIECE.replace('"true"', '"False"'),
            MoveData(SetMove(Color.BLUE, Shape.PENTO_U, Rotation.RIGHT, False, 7, -1)),
        ),
        (
            PIECE.replace(' isFlipped="true"', ""),
            MoveData(SetMove(Color.BLUE, Shape.PENTO_U, Rotation.RIGHT, False, 7, -1)),
        ),
        (PIECE.replace("/></piece>", "></position></piece>"), MoveData(MOVE)),
        (
            (
                '<piece isFlipped="true" rotation="RIGHT" kind="PENTO_U" color="BLUE" extra="x">'
                '\n <position y="-1" x="7"/></piece>'
            ),
            MoveData(MOVE),
        ),
        (
            PIECE + '<hint content="a &lt; b"/>\n<hint content=""/><hint/>',
            MoveData(MOVE, ("a < b", "", "")),
        ),
        ('<hint content="vorher"/>' + PIECE, MoveData(MOVE, ("vorher",))),
    ],
)
def test_a_set_move_is_read(children: str, move: MoveData) -> None:
    assert read_set_move(children) == move


@pytest.mark.parametrize(
    ("children", "move"),
    [
        ("<color>RED</color>", MoveData(SkipMove(Color.RED))),
        ("<color>\n RED </color>", MoveData(SkipMove(Color.RED))),
        ("", MoveData(SkipMove())),
        ('<hint content="x"/><color>GREEN</color><hint content="y"/>', MoveData(SkipMove(Color.GREEN), ("x", "y"))),
    ],
)
def test_a_skip_is_read(children: str, move: MoveData) -> None:
    assert read("sc.plugin2021.SkipMove", children) == move


UNREADABLE = [
    ("SetMove", "", "im Element data fehlt das Element piece"),
    ("SetMove", "<piece/>", "im Element piece fehlt das Element position"),
    (
        "SetMove",
        PIECE.replace(' kind="PENTO_U"', ""),
        f"im Element piece fehlt das Attribut kind; erlaubt: {', '.join(Shape.__members__)}",
    ),
    ("SetMove", PIECE.replace("BLUE", "PURPLE"), f'piece color="PURPLE" gibt es nicht; erlaubt: {COLORS}'),
    ("SetMove", PIECE.replace("BLUE", "blue"), f'piece color="blue" gibt es nicht; erlaubt: {COLORS}'),
    (
        "SetMove",
        PIECE.replace(' rotation="RIGHT"', ""),
        "im Element piece fehlt das Attribut rotation; erlaubt: NONE, RIGHT, MIRROR, LEFT",
    ),
    ("SetMove", PIECE.replace('x="7"', 'x="sieben"'), 'position x="sieben" ist keine ganze Zahl'),
    ("SetMove", PIECE.replace(' x="7"', ""), "im Element position fehlt das Attribut x (eine ganze Zahl)"),
    (
        "SetMove",
        PIECE.replace('y="-1"', 'y="4294967296"'),
        'position y="4294967296" liegt nicht zwischen -2147483648 und 2147483647',
    ),
    ("SkipMove", "<color>rot</color>", f'"rot" im Element color gibt es nicht; erlaubt: {COLORS}'),
    ("SkipMove", "<color/>", f'"" im Element color gibt es nicht; erlaubt: {COLORS}'),
]


@pytest.mark.parametrize(("name", "children", "problem"), UNREADABLE)
def test_an_unreadable_move_says_exactly_what_was_wrong(name: str, children: str, problem: str) -> None:
    class_name = f"sc.plugin2021.{name}"
    assert read(class_name, children) == UnreadableData(class_name, problem)


@pytest.mark.parametrize(
    ("children", "note"),
    [
        (PIECE + "<x/>", "<x> in <data>"),
        (PIECE + PIECE, "<piece> in <data>"),
        (PIECE.replace("</piece>", "<x/></piece>"), "<x> in <piece>"),
        (PIECE.replace("/></piece>", "><x/></position></piece>"), "<x> in <position>"),
        (PIECE + "<hint><x/></hint>", "<x> in <hint>"),
    ],
)
def test_unknown_children_of_a_move_are_skipped(children: str, note: str) -> None:
    notes: list[str] = []
    data = read("sc.plugin2021.SetMove", children, notes)
    assert isinstance(data, MoveData)
    assert (data.move, notes) == (MOVE, [note])


def test_a_move_is_written_as_the_official_client_does() -> None:
    packet = RoomMessage("r", MoveData(SetMove(Color.BLUE, Shape.PENTO_U, Rotation.NONE, False, 7, 7), ("a&b",)))
    assert BLOKUS_2021_R3.encode(packet).decode() == (
        '\n  <room roomId="r">'
        '\n    <data class="sc.plugin2021.SetMove">'
        '\n      <piece color="BLUE" kind="PENTO_U" rotation="NONE" isFlipped="false">'
        '\n        <position x="7" y="7"/>'
        "\n      </piece>"
        '\n      <hint content="a&amp;b"/>'
        "\n    </data>"
        "\n  </room>"
    )
    skip = RoomMessage("r", MoveData(SkipMove()))
    assert b'<data class="sc.plugin2021.SkipMove"/>' in BLOKUS_2021_R3.encode(skip)


@dataclass(frozen=True)
class ForeignMove:
    """A move of another game."""


def test_a_move_of_another_game_cannot_be_written() -> None:
    with pytest.raises(LocalProtocolError, match="not a move of Blokus: ForeignMove"):
        BLOKUS_2021_R3.encode(RoomMessage("r", MoveData(ForeignMove())))


# -- positions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", [8, 96, 100, 103, 400])
def test_a_game_that_is_played_on_is_not_over(turn: int) -> None:
    """A client asked for a move knows that the game goes on, whatever the options of the server's rules are."""
    start = BLOKUS_2021.new_state(random.Random(1))
    remaining = (0, *start.remaining_masks[1:])
    state = dataclasses.replace(start, turn=turn, remaining_masks=remaining, valid_mask=0b1110)
    assert state.outcome() is not None
    continued = blokus.played_on(state)
    assert continued.outcome() is None
    assert dataclasses.replace(cast("BlokusState", continued), rules=state.rules) == state


def test_a_position_of_another_game_stays_as_it_is() -> None:
    state = HASE_UND_IGEL_2018.new_state(random.Random(1))
    assert blokus.played_on(state) is state
