"""A connection turns bytes into events and messages into bytes, and says whose fault an error is."""

from __future__ import annotations

import re
from typing import Final, NoReturn

import pytest

from spielleiter.protocol.connection import (
    Connection,
    ConnectionClosed,
    Role,
    StreamEnd,
)
from spielleiter.protocol.dialect import Dialect, PlainForm
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3, BLOKUS_2021_RELEASE
from spielleiter.protocol.errors import LocalProtocolError, Refusal, RemoteProtocolError
from spielleiter.protocol.limits import AFTER_JOIN, Limits
from spielleiter.protocol.messages import Joined, JoinRequest, Left, PrepareRequest, Slot
from spielleiter.protocol.packet_reader import PacketReader, TreeBuilder
from tests.protocol.streams import CUTS, Cut, all_events, whole


def server() -> Connection:
    return Connection(Role.SERVER, BLOKUS_2021_R3)


# -- input ------------------------------------------------------------------------------------------------------------


def test_nothing_is_read_after_the_end_tag() -> None:
    connection = server()
    connection.receive_data(b"<protocol></protocol>")
    assert connection.next_event() == StreamEnd()
    connection.receive_data(b"<protocol><join/>")
    assert connection.next_event() is None
    connection.receive_data(b"")
    assert connection.next_event() == ConnectionClosed()


@pytest.mark.parametrize(
    ("stream", "refusal"),
    [
        (b"<protocol><join/><foo/><join/>", Refusal.UNKNOWN_PACKET),
        (b"<protocol><join/></foo><join/>", Refusal.MALFORMED),
        (b"<protocol><join/><joinedGameRoom playerCount='x'/><join/>", Refusal.UNREADABLE_PACKET),
    ],
)
@pytest.mark.parametrize("cut", CUTS)
def test_nothing_is_read_after_an_error(stream: bytes, refusal: Refusal, cut: Cut) -> None:
    connection = server()
    events: list[object] = []
    for piece in cut(stream):
        connection.receive_data(piece)
        while True:
            try:
                event = connection.next_event()
            except RemoteProtocolError as error:
                events.append(error.refusal)
                continue
            if event is None:
                break
            events.append(event)
    assert events == [JoinRequest(), refusal]
    connection.receive_data(b"<join/>")
    assert connection.next_event() is None
    connection.receive_data(b"")
    assert connection.next_event() == ConnectionClosed()


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    ("stream", "refusal"),
    [
        (b"\0<protocol><join gameType='x'/>", None),
        (b"\0<?xml version='1.0'?><protocol>", Refusal.MALFORMED),
        (b"<protocol><jo_.0069n gameType='x'/>", None),
        (b"<protocol><jo_.00>", Refusal.INCOMPLETE_PACKET),
        (b"<protocol><join gameType='x' y=']]>'/>", Refusal.MALFORMED),
    ],
)
def test_a_server_reads_as_the_official_one_does(stream: bytes, refusal: Refusal | None, cut: Cut) -> None:
    connection = Connection(Role.SERVER, BLOKUS_2021_RELEASE)
    if refusal is None:
        assert list(all_events(connection, cut(stream))) == [JoinRequest("x"), ConnectionClosed()]
    else:
        with pytest.raises(RemoteProtocolError) as raised:
            list(all_events(connection, cut(stream)))
        assert raised.value.refusal is refusal


def test_the_dialect_may_change_between_two_packets() -> None:
    connection = server()
    connection.receive_data(b"<protocol><join/>" + b'<prepare gameType="g"><slot/></prepare>' * 2 + b"<close/>")
    assert connection.next_event() == JoinRequest()
    assert connection.next_event() == PrepareRequest("g", (Slot(None, can_timeout=True, is_reserved=True),))
    connection.dialect = BLOKUS_2021_RELEASE
    assert connection.next_event() == PrepareRequest("g", (Slot(None, can_timeout=False, is_reserved=False),))
    with pytest.raises(RemoteProtocolError, match="<close> is not a packet"):
        connection.next_event()


def test_the_limits_may_change_between_two_packets() -> None:
    connection = server()
    long = b'<join gameType="' + b"x" * 9000 + b'"/>'
    connection.receive_data(b"<protocol><join/>" + long + long)
    assert connection.next_event() == JoinRequest()
    connection.limits = AFTER_JOIN
    assert connection.limits == AFTER_JOIN
    assert connection.next_event() == JoinRequest("x" * 9000)
    connection.limits = Limits()
    with pytest.raises(RemoteProtocolError, match="Packet 3 is longer than 8192 bytes"):
        connection.next_event()


def test_unknown_children_are_recorded_once() -> None:
    connection = server()
    assert not connection.ignored
    all_events(connection, whole(b"<protocol>" + b"<join><a/><a/><b/></join>" * 3))
    assert connection.ignored == ("<a> in <join>", "<b> in <join>")


# -- bugs of this program ----------------------------------------------------------------------------------------------


def fail(*_: object, **_named: object) -> NoReturn:
    raise ValueError("a bug")


PACKETS: Final = b'<protocol><join gameType="a"/><join gameType="b"/><join gameType="c"/>'
BROKEN_FORM: Final = PlainForm(lambda: re.compile(rb'<join gameType="b"/>'), fail, 2, 1, 0)


@pytest.mark.parametrize(
    ("place", "name"),
    [(Dialect, "decode"), (PacketReader, "next_packet"), (TreeBuilder, "end"), (TreeBuilder, "take")],
    ids=["dialect", "reader", "handler", "end"],
)
def test_a_bug_is_reported_with_its_cause_and_the_bytes(
    monkeypatch: pytest.MonkeyPatch, place: type, name: str
) -> None:
    with monkeypatch.context() as patch:
        if place is TreeBuilder:  # the parser has taken its handlers already
            patch.setattr(TreeBuilder, name, fail)
        connection = server()
        connection.receive_data(PACKETS)
        patch.setattr(place, name, fail)
        with pytest.raises(RemoteProtocolError, match="because of a bug in the program") as error:
            connection.next_event()
    assert error.value.refusal is Refusal.BUG
    assert isinstance(error.value.__cause__, ValueError)
    assert b'<join gameType="a"/>' in error.value.data or name == "take"
    assert connection.next_event() is None, "nothing more is read"
    connection.receive_data(b"")
    assert connection.next_event() == ConnectionClosed()


def test_a_bug_in_a_plain_form_is_reported_with_the_bytes() -> None:
    connection = Connection(Role.SERVER, BLOKUS_2021_R3.evolve(plain_forms=(BROKEN_FORM,)))
    connection.receive_data(PACKETS)
    assert connection.next_event() == JoinRequest("a")
    with pytest.raises(RemoteProtocolError) as error:
        connection.next_event()
    assert error.value.refusal is Refusal.BUG
    assert error.value.data == b'<join gameType="b"/><join gameType="c"/>'


def test_only_the_beginning_of_a_long_packet_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = server()
    monkeypatch.setattr(Dialect, "decode", fail)
    packet = b"<join><a>" + b"x" * 6000 + b"</a>"
    for piece in (b"<protocol>", packet, b"<b/>"):
        connection.receive_data(piece)
        assert connection.next_event() is None
    connection.receive_data(b"</join>")
    with pytest.raises(RemoteProtocolError) as error:
        connection.next_event()
    assert error.value.data == (b"<protocol>" + packet)[:4096]


# -- output -----------------------------------------------------------------------------------------------------------


def test_the_first_packet_follows_the_root_s_start_tag() -> None:
    connection = server()
    assert connection.send(Joined("r")) == b'<protocol>\n  <joined roomId="r"/>'
    assert connection.send(Left("r")) == b'\n  <left roomId="r"/>'
    assert connection.close() == b"\n</protocol>"
    assert connection.close() == b""


def test_sending_after_the_end_is_an_error() -> None:
    connection = server()
    connection.close()
    with pytest.raises(LocalProtocolError, match="after the end of the stream"):
        connection.send(Left("r"))
    with pytest.raises(LocalProtocolError, match="after the end of the stream"):
        connection.send_encoded(b"\n  <left/>")


def test_the_record_of_unknown_children_is_bounded() -> None:
    connection = server()
    children = b"".join(b"<a%d/>" % number for number in range(100))
    all_events(connection, whole(b"<protocol><join>" + children + b"</join>"))
    assert connection.ignored == tuple(f"<a{number}> in <join>" for number in range(32))
