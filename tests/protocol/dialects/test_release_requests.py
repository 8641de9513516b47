"""The requests of clients as the releases read them."""

from __future__ import annotations

from typing import Final

import pytest

from spielleiter.protocol import messages as m
from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3, BLOKUS_2021_RELEASE
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from tests.protocol.streams import decode

A: Final = m.Slot("a", can_timeout=False, is_reserved=False)

REQUESTS: Final[list[tuple[str, m.Message]]] = [
    ('<authenticate password="p"/>', m.AuthenticateRequest("p")),
    ('<authenticate passphrase="p"/>', m.AuthenticateRequest("p", "passphrase")),
    ('<authenticate password="p" passphrase="q"/>', m.AuthenticateRequest("p")),
    ("<authenticate><password> p </password></authenticate>", m.AuthenticateRequest(" p ")),
    ("<authenticate/>", m.AuthenticateRequest()),
    ('<cancel roomId="r"/>', m.CancelRequest("r")),
    ("<cancel/>", m.CancelRequest()),
    ('<join gameType="g" foo="x">text</join>', m.JoinRequest("g")),
    ("<join><gameType>g</gameType></join>", m.JoinRequest("g")),
    ('<join GameType="g"/>', m.JoinRequest()),
    ('<foo class="join" gameType="g"/>', m.JoinRequest("g")),
    ('<join class="joinRoom" roomId="r"/>', m.JoinRoomRequest("r")),
    ('<join resolves-to="close" class="joinRoom"/>', m.CloseConnection()),
    ('<joinPrepared reservationCode="c"/>', m.JoinPreparedRequest("c")),
    ('<joinRoom roomId="r"/>', m.JoinRoomRequest("r")),
    ('<observe roomId="r"/>', m.ObserveRequest("r")),
    ('<pause roomId="r" pause="TRUE"/>', m.PauseRequest("r", True)),
    ('<pause roomId="r" pause="1"/>', m.PauseRequest("r", False)),
    ("<pause><roomId>r</roomId><pause>true</pause></pause>", m.PauseRequest("r", True)),
    ('<step roomId="r" forced="true"/>', m.StepRequest("r", True)),
    ("<step/>", m.StepRequest(None)),
    ('<prepare gameType="g" pause="true"><slot displayName="a"/></prepare>', m.PrepareRequest("g", (A,), True)),
    ('<prepare gameType="g"><slot displayName="a" foo="x">text</slot></prepare>', m.PrepareRequest("g", (A,))),
    (
        '<prepare><slot displayName="a" canTimeout="True" reserved="true" shouldBePaused="true"/></prepare>',
        m.PrepareRequest(None, (m.Slot("a", should_be_paused=True),)),
    ),
    (
        "<prepare><slotDescriptors><displayName>a</displayName></slotDescriptors><slot class='null'/></prepare>",
        m.PrepareRequest(None, (A, m.Slot(None, can_timeout=False, is_reserved=False))),
    ),
    ('<room roomId="r"/>', m.RoomMessage("r", None)),
    ("<room><roomId> r </roomId></room>", m.RoomMessage(" r ", None)),
    ('<room roomId="r" data="x"><data class="null"/></room>', m.RoomMessage("r", None)),
    ('<sc.protocol.room.RoomPacket roomId="r"/>', m.RoomMessage("r", None)),
]


CLASSES: Final[dict[str, m.Message]] = {
    "CancelRequest": m.CancelRequest("r"),
    "JoinGameRequest": m.JoinRequest(),
    "JoinPreparedRoomRequest": m.JoinPreparedRequest(),
    "JoinRoomRequest": m.JoinRoomRequest("r"),
    "ObservationRequest": m.ObserveRequest("r"),
    "PauseGameRequest": m.PauseRequest("r", False),
    "PrepareGameRequest": m.PrepareRequest(None, ()),
    "StepRequest": m.StepRequest("r"),
}


@pytest.mark.parametrize("dialect", [BLOKUS_2027, BLOKUS_2021_RELEASE], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize(("name", "message"), CLASSES.items())
def test_class_names(dialect: Dialect, name: str, message: m.Message) -> None:
    assert decode(dialect, f'<sc.protocol.requests.{name} roomId="r"/>') == message


@pytest.mark.parametrize("dialect", [BLOKUS_2027, BLOKUS_2021_RELEASE], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize(("packet", "message"), REQUESTS)
def test_requests(dialect: Dialect, packet: str, message: m.Message) -> None:
    if packet.startswith("<join resolves") and dialect is BLOKUS_2021_RELEASE:
        packet = packet.replace('"close"', '"sc.protocol.CloseConnection"')  # it has no short name there
    assert decode(dialect, packet) == message


@pytest.mark.parametrize(
    ("packet", "message"),
    [
        ('<testMode testMode="True"/>', m.TestModeRequest(True)),
        ("<testMode/>", m.TestModeRequest(False)),
        ('<scoreForPlayer displayName="a"/>', m.ScoreForPlayerRequest("a")),
        ("<sc.protocol.requests.PlayerScoreRequest/>", m.ScoreForPlayerRequest()),
    ],
)
def test_requests_of_the_test_mode(packet: str, message: m.Message) -> None:
    assert decode(BLOKUS_2021_RELEASE, packet) == message
    with pytest.raises(RemoteProtocolError) as error:
        decode(BLOKUS_2027, packet)
    assert error.value.refusal is Refusal.UNKNOWN_PACKET


@pytest.mark.parametrize(
    ("packet", "problem"),
    [
        ("<join><foo/></join>", "unbekanntes Element <foo> in <join>"),
        ("<authenticate><passphrase>p</passphrase></authenticate>", "unbekanntes Element <passphrase> in <authen"),
        ("<prepare><slot><shouldBePaused>true</shouldBePaused></slot></prepare>", "unbekanntes Element <shouldBe"),
        ("<prepare><slotDescriptor/></prepare>", "unbekanntes Element <slotDescriptor> in <prepare>"),
        ('<join gameType="g"><gameType>g</gameType></join>', "gameType steht im Element join mehr als einmal"),
        ('<room roomId="r"><data class="foo"/></room>', 'data class="foo" gibt es nicht; erlaubt: sc.plugin20'),
        ('<room roomId="r"><data/></room>', "data ohne class gibt es nicht; erlaubt: sc.plugin20"),
        ('<close class="sc.protocol.CloseConnection"><foo/></close>', "unbekanntes Element <foo> in <close>"),
    ],
)
@pytest.mark.parametrize("dialect", [BLOKUS_2027, BLOKUS_2021_RELEASE], ids=lambda dialect: dialect.name)
def test_requests_that_cannot_be_read(dialect: Dialect, packet: str, problem: str) -> None:
    with pytest.raises(RemoteProtocolError) as error:
        decode(dialect, packet)
    assert error.value.refusal is Refusal.UNREADABLE_PACKET
    assert problem in str(error.value)


@pytest.mark.parametrize("packet", ["<Join/>", "<int>1</int>", '<join class="foo"/>'])
@pytest.mark.parametrize("dialect", [BLOKUS_2027, BLOKUS_2021_RELEASE], ids=lambda dialect: dialect.name)
def test_unknown_packets(dialect: Dialect, packet: str) -> None:
    with pytest.raises(RemoteProtocolError) as error:
        decode(dialect, packet)
    assert error.value.refusal is Refusal.UNKNOWN_PACKET


@pytest.mark.parametrize("packet", ["<null/>", '<join class="null"/>', '<join class=""/>', '<foo resolves-to=""/>'])
@pytest.mark.parametrize("dialect", [BLOKUS_2027, BLOKUS_2021_RELEASE], ids=lambda dialect: dialect.name)
def test_packets_without_a_class(dialect: Dialect, packet: str) -> None:
    with pytest.raises(RemoteProtocolError) as error:
        decode(dialect, packet)
    assert error.value.refusal is Refusal.INCOMPLETE_PACKET


def test_the_class_replaces_the_tag_only_in_a_strict_dialect() -> None:
    packet = '<join gameType="g" class="joinRoom" roomId="r"/>'
    assert decode(BLOKUS_2021_R3, packet) == m.JoinRequest("g")
    assert decode(BLOKUS_2027, packet, is_from_server=True) == m.JoinRequest("g")


def test_a_server_may_repeat_a_request_with_more_elements() -> None:
    request = '<originalRequest class="join" gameType="g"><new/></originalRequest>'
    notes: list[str] = []
    packet = f'<errorpacket message="no">{request}</errorpacket>'
    assert decode(BLOKUS_2027, packet, notes, is_from_server=True) == m.ErrorPacket("no", m.JoinRequest("g"))
    assert notes == ["<new> in <originalRequest>"]


@pytest.mark.parametrize("start", ["<protocol>", "<foo>", '<join class="foo" gameType="g">', "<foo/>"])
@pytest.mark.parametrize("role", Role)
def test_an_unknown_packet_is_refused_at_its_start_tag(start: str, role: Role) -> None:
    """The official server does not wait for its end, which may never come."""
    connection = Connection(role, BLOKUS_2027)
    connection.receive_data(b"<protocol>" + start.encode())
    if role is Role.CLIENT and not start.endswith("/>"):
        assert connection.next_event() is None
        return
    with pytest.raises(RemoteProtocolError) as error:
        connection.next_event()
    assert error.value.refusal is Refusal.UNKNOWN_PACKET
    assert isinstance(error.value.original, m.UnknownPacket)
    assert str(error.value) == f"<{error.value.original.tag}> is not a packet of this protocol"
