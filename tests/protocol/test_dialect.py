"""A dialect is a value: it never changes, and `evolve` makes another one from the differences."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import cast

import pytest
from lxml import etree

from spielleiter.game.blokus.pieces import Shape
from spielleiter.game.blokus.state import RULES_2021, BlokusState
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3, BLOKUS_2021_RELEASE
from spielleiter.protocol.dialects.hase_und_igel_2018 import HASE_UND_IGEL_2018
from spielleiter.protocol.dialects.packets import attribute_reader, attribute_writer, empty_writer, read_close
from spielleiter.protocol.errors import LocalProtocolError, Refusal, RemoteProtocolError
from spielleiter.protocol.messages import (
    CancelRequest,
    CloseConnection,
    JoinRequest,
    Left,
    Memento,
    PrepareRequest,
    RoomMessage,
    Slot,
    UnknownPacket,
    UnreadableData,
)
from spielleiter.protocol.reading import Element


def decode(dialect: Dialect, text: str, notes: list[str] | None = None) -> object:
    packet = cast("Element", etree.fromstring(text))
    return dialect.decode(packet) if notes is None else dialect.decode(packet, notes.append)


def test_a_dialect_never_changes() -> None:
    with pytest.raises(FrozenInstanceError):
        BLOKUS_2021_R3.name = "x"  # type: ignore[misc]
    for table in (
        BLOKUS_2021_R3.readers,
        BLOKUS_2021_R3.data_readers,
        BLOKUS_2021_R3.writers,
        BLOKUS_2021_R3.data_writers,
    ):
        with pytest.raises(TypeError):
            table["x"] = None  # type: ignore[index]


def test_the_repr_of_a_dialect_is_short() -> None:
    """A dialect is the default value of arguments, which `help` shows."""
    assert repr(BLOKUS_2021_R3) == "<Dialect blokus-2021-r3>"


def test_a_dialect_is_hashable() -> None:
    assert len({BLOKUS_2021_R3: 1, BLOKUS_2021_R3.evolve(): 2}) == 2


def test_the_tables_are_copies() -> None:
    readers = {"close": read_close}
    dialect = BLOKUS_2021_R3.evolve(readers=readers)
    readers["x"] = read_close
    assert "x" not in dialect.readers


def test_evolving_merges_tables_and_replaces_values() -> None:
    other = BLOKUS_2021_R3.evolve(
        name="other",
        readers={"enter": attribute_reader(JoinRequest, "game"), "join": None},
        writers={CloseConnection: empty_writer("bye"), Left: None},
    )
    assert other.name == "other"
    assert other.data_readers == BLOKUS_2021_R3.data_readers
    assert decode(other, '<enter game="x"/>') == JoinRequest("x")
    assert decode(other, "<left/>") == Left(None)
    assert other.encode(CloseConnection()) == b"\n  <bye/>"
    with pytest.raises(RemoteProtocolError):
        decode(other, "<join/>")
    with pytest.raises(LocalProtocolError, match="other has no way to write Left"):
        other.encode(Left("r"))
    assert BLOKUS_2021_R3.encode(Left("r")) == b'\n  <left roomId="r"/>'


def test_an_unknown_packet_is_named() -> None:
    with pytest.raises(RemoteProtocolError) as error:
        decode(BLOKUS_2021_R3, "<foo/>")
    assert error.value.refusal is Refusal.UNKNOWN_PACKET
    assert str(error.value) == "<foo> is not a packet of this protocol"
    assert error.value.original == UnknownPacket("foo")


def test_a_packet_that_cannot_be_read_is_named() -> None:
    with pytest.raises(RemoteProtocolError) as error:
        decode(BLOKUS_2021_R3, '<joinedGameRoom roomId="r" playerCount="many"/>')
    assert error.value.refusal is Refusal.UNREADABLE_PACKET
    assert str(error.value) == (
        '<joinedGameRoom> cannot be read: joinedGameRoom playerCount="many" ist keine ganze Zahl'
    )
    assert error.value.original is None


def test_skipped_children_are_noted() -> None:
    notes: list[str] = []
    assert decode(BLOKUS_2021_R3, "<join><a/><b><c/></b></join>", notes) == JoinRequest()
    assert notes == ["<a> in <join>", "<b> in <join>"]
    assert BLOKUS_2021_R3.decode(cast("Element", etree.fromstring("<join><a/></join>"))) == JoinRequest()


@pytest.mark.parametrize(
    ("data", "class_name", "problem"),
    [
        ("<data/>", None, "data ohne class gibt es nicht; erlaubt: sc.plugin2021.SetMove, sc.plugin2021.SkipMove"),
        (
            '<data class="foo.Bar"/>',
            "foo.Bar",
            'data class="foo.Bar" gibt es nicht; erlaubt: sc.plugin2021.SetMove, sc.plugin2021.SkipMove',
        ),
        ('<data class="sc.plugin2021.SetMove"/>', "sc.plugin2021.SetMove", "im Element data fehlt das Element piece"),
    ],
)
def test_data_that_cannot_be_read_says_why(data: str, class_name: str | None, problem: str) -> None:
    message = decode(BLOKUS_2021_R3, f'<room roomId="r">{data}</room>')
    assert message == RoomMessage("r", UnreadableData(class_name, problem))


# -- a client whose edition is not known yet --------------------------------------------------------------------------


def test_requests_of_other_editions_are_understood_and_can_be_repeated() -> None:
    other = BLOKUS_2021_R3.evolve(
        readers={"cancel": None, "enter": attribute_reader(CancelRequest, "room")},
        writers={CancelRequest: attribute_writer("enter", "room", "room_id")},
    )
    narrow = BLOKUS_2021_RELEASE.evolve(writers={CancelRequest: None})
    wide = narrow.also_reading(other, BLOKUS_2021_R3)
    assert decode(wide, '<enter room="r"/>') == CancelRequest("r")
    assert decode(wide, "<close/>") == CloseConnection()
    assert wide.encode(CancelRequest("r")) == b'\n  <enter room="r"/>', "the first one that can say it"
    assert wide.data_readers == narrow.data_readers
    with pytest.raises(RemoteProtocolError, match="is not a packet"):
        decode(narrow, "<close/>")


def test_known_requests_are_not_replaced_by_those_of_others() -> None:
    wide = BLOKUS_2021_R3.also_reading(BLOKUS_2021_R3.evolve(readers={"join": attribute_reader(JoinRequest, "other")}))
    assert decode(wide, '<join gameType="g" other="x"/>') == JoinRequest("g")


def test_missing_attributes_of_a_slot_get_the_defaults_of_the_edition() -> None:
    request = decode(BLOKUS_2021_R3, '<prepare gameType="g"><slot displayName="a" reserved="true"/><slot/></prepare>')
    assert isinstance(request, PrepareRequest)
    assert BLOKUS_2021_R3.with_defaults(request) == request
    assert BLOKUS_2021_RELEASE.with_defaults(request).slots == (
        Slot("a", can_timeout=False, is_reserved=True),
        Slot(None, can_timeout=False, is_reserved=False),
    )


def test_a_request_that_was_not_read_from_the_wire_is_complete() -> None:
    request = PrepareRequest("g", (Slot("a"), Slot("b", can_timeout=False)))
    assert BLOKUS_2021_RELEASE.with_defaults(request) == request


def test_attributes_of_another_season_are_refused_by_name() -> None:
    narrow = BLOKUS_2021_R3.evolve(name="narrow", slot_attributes=("displayName",), prepare_attributes=("gameType",))
    for text, where in (
        ('<prepare pause="true"/>', "prepare: narrow has no attribute pause; it has gameType"),
        (
            '<prepare><slot/><slot reserved="x"/></prepare>',
            "slot 2: narrow has no attribute reserved; it has displayName",
        ),
    ):
        request = decode(BLOKUS_2021_R3, text)
        assert isinstance(request, PrepareRequest)
        with pytest.raises(RemoteProtocolError) as error:
            narrow.with_defaults(request)
        assert (error.value.refusal, str(error.value)) == (Refusal.UNREADABLE_PACKET, where)
        assert error.value.original == request


def test_has_packet() -> None:
    assert BLOKUS_2021_R3.has_packet(Left)
    assert BLOKUS_2021_R3.has_packet(Memento)
    assert not BLOKUS_2021_R3.evolve(writers={Left: None}).has_packet(Left)


def test_by_default_a_result_has_no_details_of_the_players() -> None:
    assert BLOKUS_2021_R3.player_details(BlokusState(RULES_2021, Shape.PENTO_L)) == (None, None)


def test_by_default_a_position_is_played_on_as_it_is() -> None:
    position = BlokusState(RULES_2021, Shape.PENTO_L)
    assert HASE_UND_IGEL_2018.played_on(position) is position
