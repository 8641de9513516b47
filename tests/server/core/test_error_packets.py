"""The length of an error packet is bounded; a refused packet of ordinary length is repeated unchanged."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.game.blokus.moves import SetMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.game.blokus.state import BLOKUS_2021
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.messages import (
    Cause,
    ErrorMessage,
    ErrorPacket,
    JoinPreparedRequest,
    Memento,
    Message,
    MoveData,
    PrepareRequest,
    Result,
    RoomMessage,
    Score,
    Slot,
    UnknownPacket,
    UnreadableData,
)
from spielleiter.server.core.error_packets import (
    MAX_ERROR_BYTES,
    MAX_TEXT_BYTES,
    encoded_error,
    shortened,
    shortened_text,
)

DIALECT = BLOKUS_2021_R3
MOVE = SetMove(Color.BLUE, Shape.MONO, Rotation.NONE, False, 0, 0)
NESTED: Message = JoinPreparedRequest("x")
for _ in range(30):
    NESTED = ErrorPacket("x" * 300, NESTED)

USUAL: list[Message] = [
    JoinPreparedRequest("17b3d87c-b792-494c-b984-9ddf01887304"),
    JoinPreparedRequest(None),
    PrepareRequest("swc_2021_blokus", (Slot("Eins"), Slot("Zwei"))),
    RoomMessage("17b3d87c-b792-494c-b984-9ddf01887304", MoveData(MOVE, ("a hint", "another one"))),
    RoomMessage("id", UnreadableData("sc.plugin2021.SetMove", "what is allowed: " + "ABC, " * 60)),
    UnknownPacket("jion"),
]
HUGE: list[Message] = [
    JoinPreparedRequest('"' * 60_000),
    JoinPreparedRequest("\x00" * 60_000),
    PrepareRequest("swc_2021_blokus", (Slot('"' * 100),) * 4096),
    RoomMessage("&" * 60_000, MoveData(MOVE, ("'" * 20,) * 4000)),
    RoomMessage("id", UnreadableData("<" * 60_000, "no such class")),
    RoomMessage("id", ErrorMessage("x" * 60_000, MoveData(MOVE, ("y" * 60_000,)))),
    RoomMessage("id", Memento(BLOKUS_2021.new_state(random.Random(1)), ("Eins", "Zwei"))),
    RoomMessage("id", Result((), (Score(Cause.REGULAR, "x" * 60_000, (1, 2, 3)),) * 1000, (), ("", ""))),
    NESTED,
    UnknownPacket("ä" * 60_000),
]


@pytest.mark.parametrize("message", USUAL)
def test_usual_packets_are_repeated_unchanged(message: Message) -> None:
    assert shortened(message) is message
    assert encoded_error(DIALECT, "because", message) == DIALECT.encode(ErrorPacket("because", message))


@pytest.mark.parametrize("message", HUGE)
def test_no_error_is_long(message: Message) -> None:
    packet = encoded_error(DIALECT, '"' * 60_000, message)
    assert len(packet) <= MAX_ERROR_BYTES + MAX_TEXT_BYTES
    assert len(encoded_error(DIALECT, "because", message)) <= MAX_ERROR_BYTES
    assert b"originalRequest" in packet


def test_what_is_long_inside_of_a_packet_is_cut() -> None:
    cut = shortened(RoomMessage("id", MoveData(MOVE, ("y" * 200,) * 20)))
    assert cut == RoomMessage("id", MoveData(MOVE, ("y" * 100 + "…",) * 20))
    assert shortened_text('"' * 80) == '"' * 66 + "…", "as an attribute, each character takes six bytes"
    prepare = PrepareRequest("swc_2021_blokus", (Slot("Eins"), Slot("x" * 200)))
    assert [slot.display_name for slot in shortened(prepare).slots] == ["Eins", "x" * 100 + "…"]


@settings(max_examples=30)
@given(st.text(max_size=50))
def test_a_long_text_is_cut_at_its_end(text: str) -> None:
    for long in (text, text * 20):
        cut = shortened_text(long)
        assert cut == long or (cut.endswith("…") and long.startswith(cut[:-1]))
        assert len(cut.encode("utf-8", "replace")) <= MAX_TEXT_BYTES + len("…".encode())


def test_without_a_packet_an_error_is_only_the_explanation() -> None:
    assert encoded_error(DIALECT, "because", None) == DIALECT.encode(ErrorPacket("because"))
