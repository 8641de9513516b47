"""The dialects of Blokus 2021 against the recordings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from spielleiter.game.blokus.moves import SetMove, SkipMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.game.blokus.state import RULES_2021, BlokusState
from spielleiter.protocol import messages as m
from spielleiter.protocol.connection import Connection, Event, Role
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects.blokus_2021 import (
    BLOKUS_2021_R1,
    BLOKUS_2021_R2,
    BLOKUS_2021_R3,
    BLOKUS_2021_RELEASE,
    explain_mistake,
)
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.limits import AFTER_JOIN
from tests.protocol.streams import (
    all_events,
    data_of,
    decode,
    packets,
    read_streams,
    samples,
    transcripts,
    whole,
)
from tests.shared import SHARED, needs_shared

# -- what the editions do differently ---------------------------------------------------------------------------------


def first_event(dialect: Dialect, packet: str) -> Event | Refusal | None:
    connection = Connection(Role.SERVER, dialect)
    connection.receive_data(b"<protocol>" + packet.encode())
    try:
        return connection.next_event()
    except RemoteProtocolError as error:
        return error.refusal


@pytest.mark.parametrize(
    ("packet", "latest", "release"),
    [
        (
            '<prepare gameType="g"><slot displayName="x"/></prepare>',
            m.PrepareRequest("g", (m.Slot("x", can_timeout=True, is_reserved=True),)),
            m.PrepareRequest("g", (m.Slot("x", can_timeout=False, is_reserved=False),)),
        ),
        ('<join gameType="g" foo="bar"/>', m.JoinRequest("g"), m.JoinRequest("g")),
        ('<join gameType="g"><bar/></join>', m.JoinRequest("g"), Refusal.UNREADABLE_PACKET),
        ("<foo/>", Refusal.UNKNOWN_PACKET, Refusal.UNKNOWN_PACKET),
        ("<state/>", Refusal.UNKNOWN_PACKET, Refusal.UNKNOWN_PACKET),
        ("<join></room>", Refusal.MALFORMED, Refusal.MALFORMED),
        ('<room roomId="r"/>', m.RoomMessage("r", None), m.RoomMessage("r", None)),
        ('<room roomId="r"><foo/></room>', m.RoomMessage("r", None), Refusal.UNREADABLE_PACKET),
    ],
)
def test_packets_that_the_release_read_differently(
    packet: str, latest: Event | Refusal, release: Event | Refusal
) -> None:
    assert first_event(BLOKUS_2021_R3, packet) == latest
    assert first_event(BLOKUS_2021_RELEASE, packet) == release


# -- whole conversations with the official server ---------------------------------------------------------------------


REFUSED_BY_THE_RELEASE = {
    "c06_unknown_tag": {"u00", "u01", "u03", "u07", "u08", "u09", "u11", "u12", "u13"},
    "c10e_malformed_mid_game": {"p1"},
    "c10f_unknown_data_class": {"p1"},
    "c10j_piece_defaults_missing": {"p1"},
    "c10k_extra_child_in_move": {"p1"},
}
"""The recorded clients that the official server disconnected without an answer because it could not read a packet."""


@needs_shared
@pytest.mark.slow
def test_clients_that_the_official_server_disconnected_are_refused() -> None:
    assert SHARED is not None
    refused: dict[str, set[str]] = {}
    for path in sorted((SHARED / "transcripts/blokus-2021/cases").glob("*.txt")):
        for stream in read_streams(path):
            if stream.is_to_server:
                connection = Connection(Role.SERVER, BLOKUS_2021_RELEASE, AFTER_JOIN)
                try:
                    all_events(connection, whole(stream.data))
                except RemoteProtocolError:
                    refused.setdefault(path.stem, set()).add(stream.connection)
    assert refused == REFUSED_BY_THE_RELEASE


MONO_AT_9_9: Final = "BLUE Piece MONO:0 [9,9]"
START: Final = BlokusState(RULES_2021, Shape.PENTO_V)


def set_move(color: Color, shape: Shape, x: int, y: int, rotation: Rotation = Rotation.NONE) -> SetMove:
    return SetMove(color, shape, rotation, False, x, y)


def second_round() -> BlokusState:
    """Every colour has its first piece in a corner; that of BLUE covers (0, 0), (0, 1), (0, 2), (1, 2) and (2, 2)."""
    state = START
    for color, (x, y) in zip(Color, [(0, 0), (17, 17), (0, 17), (17, 0)], strict=True):
        rotation = Rotation.MIRROR if color is Color.GREEN else Rotation.NONE
        state = state.play(set_move(color, Shape.PENTO_V, x, y, rotation))
    return state


BLUE, GREEN = Color.BLUE, Color.GREEN
LATER: Final = second_round()


@pytest.mark.parametrize(
    ("state", "move", "text"),
    [
        (START, set_move(BLUE, Shape.PENTO_I, 0, 0), "PENTO_I is not the requested first shape, PENTO_V"),
        (START, SkipMove(), "Can't Skip on first round; move was BLUE skipped"),
        (START, SkipMove(Color.RED), "Expected move from BLUE; move was RED skipped"),
        (START, set_move(GREEN, Shape.PENTO_V, 0, 0), "Expected move from BLUE; move was GREEN Piece PENTO_V:0 [0,0]"),
        (START, set_move(BLUE, Shape.PENTO_V, 5, 5), "The Piece isn't located in a corner{}BLUE Piece PENTO_V:0 [5,5]"),
        (START, set_move(BLUE, Shape.PENTO_V, 18, 17), "Field [20, 19] is out of bounds{}BLUE Piece PENTO_V:0 [18,17]"),
        (LATER, set_move(BLUE, Shape.PENTO_V, 9, 9), "Piece PENTO_V has already been placed before"),
        (LATER, set_move(BLUE, Shape.MONO, 1, 2), "Field [1, 2] already belongs to BLUE{}BLUE Piece MONO:0 [1,2]"),
        (
            LATER,
            set_move(BLUE, Shape.MONO, 19, 19),
            "Field [19, 19] already belongs to YELLOW{}BLUE Piece MONO:0 [19,19]",
        ),
        (LATER, set_move(BLUE, Shape.MONO, 1, 1), "Field [1, 1] already borders on BLUE{}BLUE Piece MONO:0 [1,1]"),
        (
            LATER,
            set_move(BLUE, Shape.MONO, 9, 9),
            f"{MONO_AT_9_9} shares no corner with another piece of same color{{}}{MONO_AT_9_9}",
        ),
    ],
)
def test_a_mistake_is_explained(state: BlokusState, move: SetMove | SkipMove, text: str) -> None:
    text = text.format("; move was ")
    mistake = state.check(move)
    assert mistake is not None
    assert explain_mistake(mistake, move, state) == text
    refusal = BLOKUS_2021_R1.texts.illegal("Eins", mistake, move, state)
    assert (refusal.reason, refusal.observer_error) == (text, text)
    assert refusal.error == f"Ungueltiger Zug von 'Eins'.\n{text}"
    assert (refusal.packet, refusal.shown) == (None, None)


def test_a_move_out_of_turn_names_both() -> None:
    sent = m.MoveData(SetMove(Color.YELLOW, Shape.PENTO_S, Rotation.NONE, False, 16, 0))
    refusal = BLOKUS_2021_R1.texts.out_of_turn(0, 0, 1, ("Eins", "Zwei"), sent)
    assert refusal.error == (
        "It's not your turn yet; expected: Player One(Eins), got: Player Two(Zwei)"
        " (msg was YELLOW Piece PENTO_S:0 [16,0])."
    )
    assert (refusal.reason, refusal.shown) == ("Der Spieler hat das Spiel verlassen", sent)
    unreadable = BLOKUS_2021_R1.texts.out_of_turn(None, 1, 0, ("Eins", "Zwei"), m.UnreadableData("x", "y"))
    assert unreadable.error.endswith("got: Player One(Eins) (msg was x).")
    early = BLOKUS_2021_R1.texts.out_of_turn(None, 0, 0, ("Eins", "Zwei"), m.MoveData(SkipMove()))
    assert early.error == "We didn't request a data from you yet."
    assert BLOKUS_2021_R1.texts.describe_move(None) == "null"


def test_unreadable_moves_are_explained_in_german() -> None:
    refusal = BLOKUS_2021_R1.texts.unreadable("Eins", m.UnreadableData("x", "data fehlt"))
    assert refusal.reason == refusal.observer_error == "Der Zug konnte nicht erkannt werden: data fehlt"
    assert refusal.error == "Ungueltiger Zug von 'Eins'.\nDer Zug konnte nicht erkannt werden: data fehlt"
    assert refusal.shown is None


RECORDED: Final = samples("blokus-2021-r1")
_COLORS: Final = re.compile(
    rb' currentColorIndex="\d"'
    rb"|\n        <orderedColors/>|\n        <orderedColors>.*</orderedColors>"
    rb"|\n        <startColor>BLUE</startColor>",
    re.DOTALL,
)


MEMENTOS: Final = [name for name in RECORDED if name.startswith("memento")]


@pytest.mark.parametrize("name", [each for each in MEMENTOS if each != "memento_last"])
def test_a_position_is_that_of_the_first_revision_without_colors(name: str) -> None:
    packet = _COLORS.sub(b"", RECORDED[name])
    assert b"olors" not in packet
    assert BLOKUS_2021_R2.encode(decode(BLOKUS_2021_R2, packet)) == packet


MEMENTO: Final = b'class="memento"'
GAMES: Final = transcripts("blokus-2021-r1", "*.gz")


def state_of(packet: bytes | str) -> BlokusState:
    data = data_of(BLOKUS_2021_R1, packet)
    assert isinstance(data, m.Memento), data
    assert isinstance(data.state, BlokusState)
    return data.state


def encode(state: BlokusState) -> bytes:
    return BLOKUS_2021_R1.encode(m.RoomMessage("r", m.Memento(state, ("Eins", "Zwei"))))


def as_counted_here(state: BlokusState) -> BlokusState:
    """The position without the numbers of turn and round that its sender counted."""
    return BlokusState(**{name: getattr(state, name) for name in BlokusState.__struct_fields__})


def test_positions_are_counted_as_the_rules_do() -> None:
    three = as_counted_here(state_of(RECORDED["memento_orderedColors_three"]))
    packet = encode(three)
    assert b'<state class="state" currentColorIndex="0" turn="52" round="14" ' in packet
    assert state_of(packet) == three
    assert b' currentColorIndex="1" turn="53" ' in encode(three.play(SkipMove(Color.BLUE)))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("<orderedColors>", "<colors>", "im Element state fehlt das Element orderedColors"),
        ('currentColorIndex="1"', "", "im Element state fehlt das Attribut currentColorIndex (eine ganze Zahl)"),
        ('currentColorIndex="1"', 'currentColorIndex="4"', 'state currentColorIndex="4" ist keine Stelle in'),
        ('currentColorIndex="1"', 'currentColorIndex="-1"', 'state currentColorIndex="-1" ist keine Stelle in'),
        ('round="1"', 'round="x"', 'state round="x" ist keine ganze Zahl'),
        ("<color>BLUE</color>", "<color>PINK</color>", '"PINK" im Element color gibt es nicht'),
    ],
)
def test_an_unreadable_position_says_why(old: str, new: str, problem: str) -> None:
    text = RECORDED["memento_turn1"].decode().replace(old, new).replace(old.replace("<", "</"), new.replace("<", "</"))
    data = data_of(BLOKUS_2021_R1, text)
    assert isinstance(data, m.UnreadableData)
    assert data.problem.startswith(problem)


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES, ids=lambda path: path.name)
def test_the_rules_lead_from_position_to_position(game: Path) -> None:
    """Playing the recorded moves gives the recorded positions, except for the numbers of turns."""
    positions = [
        state_of(packet) for who, packet in packets(game, is_to_server=False) if who == "p1" and MEMENTO in packet
    ]
    assert len(positions) > 40
    state = as_counted_here(positions[0])
    for recorded in positions[1:]:
        assert recorded.last_move is not None
        state = state.play(recorded.last_move)
        assert replace(as_counted_here(recorded), turn=state.turn) == state
        assert recorded.color_on_turn == state.color_on_turn or not state.valid_mask
    assert state.valid_mask == 0
