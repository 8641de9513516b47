"""The packets around a game: as real clients write them, and every message written and read again."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given, settings
from lxml import etree

from spielleiter.protocol.connection import Connection, ConnectionClosed, Role, StreamEnd
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3, BLOKUS_2021_RELEASE
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.limits import FROM_SERVER
from spielleiter.protocol.messages import (
    AuthenticateRequest,
    CancelRequest,
    CloseConnection,
    ErrorPacket,
    Joined,
    JoinedGameRoom,
    JoinPreparedRequest,
    JoinRequest,
    JoinRoomRequest,
    Left,
    Message,
    Observed,
    ObserveRequest,
    PauseRequest,
    PlayerScore,
    Prepared,
    PrepareRequest,
    RoomMessage,
    ScoreForPlayerRequest,
    Slot,
    Status,
    StatusRequest,
    StepRequest,
    Testing,
    TestModeRequest,
    UnknownPacket,
    WelcomeMessage,
)
from spielleiter.protocol.reading import Element
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import EDITIONS
from tests.protocol import strategies
from tests.protocol.streams import CUTS, Cut, all_events

SLOT = Slot("a")


def decode(text: str) -> Message:
    return BLOKUS_2021_R3.decode(cast("Element", etree.fromstring(text)))


# -- what clients write -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    ("stream", "events"),
    [
        # the start of the stream, and white space
        ('<protocol><join gameType="g"/>', [JoinRequest("g")]),
        ('<protocol>\n  <join gameType="g" />\n', [JoinRequest("g")]),
        ('<protocol>\r\n\t<join\n\tgameType = "g"\n></join>', [JoinRequest("g")]),
        ("<protocol><join gameType='g'/>", [JoinRequest("g")]),
        ("<?xml version='1.0'?><stream><join/>", [JoinRequest(None)]),
        # every request
        ("<protocol><join/>", [JoinRequest()]),
        ('<protocol><joinRoom roomId="r"/>', [JoinRoomRequest("r")]),
        ("<protocol><joinRoom/>", [JoinRoomRequest()]),
        ('<protocol><joinPrepared reservationCode="c"/>', [JoinPreparedRequest("c")]),
        ("<protocol><joinPrepared/>", [JoinPreparedRequest()]),
        ('<protocol><authenticate password="p"/>', [AuthenticateRequest("p")]),
        ('<protocol><authenticate passphrase="p"/>', [AuthenticateRequest("p", "passphrase")]),
        ('<protocol><authenticate passphrase="q" password="p"/>', [AuthenticateRequest("p")]),
        ("<protocol><authenticate/>", [AuthenticateRequest()]),
        ('<protocol><observe roomId="r"/>', [ObserveRequest("r")]),
        ('<protocol><pause roomId="r" pause="true"/>', [PauseRequest("r", is_paused=True)]),
        ('<protocol><pause pause="TRUE"/>', [PauseRequest(None, is_paused=True)]),
        ('<protocol><pause roomId="r"/>', [PauseRequest("r", is_paused=False)]),
        ('<protocol><step roomId="r"/>', [StepRequest("r")]),
        ('<protocol><step forced="True" roomId="r"/>', [StepRequest("r", is_forced=True)]),
        ('<protocol><cancel roomId="r"/>', [CancelRequest("r")]),
        ('<protocol><testMode testMode="true"/>', [TestModeRequest(is_enabled=True)]),
        ("<protocol><testMode/>", [TestModeRequest(is_enabled=False)]),
        ('<protocol><scoreForPlayer displayName="A"/>', [ScoreForPlayerRequest("A")]),
        # prepare and its slots
        ('<protocol><prepare gameType="g"/>', [PrepareRequest("g", ())]),
        (
            '<protocol><prepare pause="true" gameType="g"><slot displayName="a"/><slot/></prepare>',
            [PrepareRequest("g", (SLOT, Slot(None)), is_paused=True)],
        ),
        (
            '<protocol><prepare pause="xyz"><slot reserved="false" canTimeout="1" displayName="ä&quot;"/></prepare>',
            [PrepareRequest(None, (Slot('ä"', can_timeout=False, is_reserved=False),))],
        ),
        (
            '<protocol><prepare><slot displayName="a" shouldBePaused="true"/></prepare>',
            [PrepareRequest(None, (Slot("a", should_be_paused=True),))],
        ),
        # unknown content
        ('<protocol><join foo="bar" gameType="g"/>', [JoinRequest("g")]),
        ("<protocol><join>text<bar><baz/></bar></join>", [JoinRequest()]),
        ('<protocol><prepare><slot displayName="a"><x/></slot><x/></prepare>', [PrepareRequest(None, (SLOT,))]),
        # goodbyes
        ("<protocol><close/>", [CloseConnection()]),
        ("<protocol><sc.protocol.CloseConnection/>", [CloseConnection()]),
        ("<protocol><sc.protocol.responses.CloseConnection/>", [CloseConnection()]),
        ("<protocol><join/></protocol>", [JoinRequest(), StreamEnd()]),
        ("<protocol/>", [StreamEnd()]),
        # several packets at once
        (
            '<protocol><joinPrepared reservationCode="c"/><room roomId="r"/><close/></protocol>',
            [JoinPreparedRequest("c"), RoomMessage("r", None), CloseConnection(), StreamEnd()],
        ),
        ("<protocol><join/>\n<!-- x --><join/>", [JoinRequest(), JoinRequest()]),
    ],
)
def test_packets_of_clients(stream: str, events: list[object], cut: Cut) -> None:
    connection = Connection(Role.SERVER, BLOKUS_2021_R3)
    assert all_events(connection, cut(stream.encode())) == [*events, ConnectionClosed()]


@pytest.mark.parametrize(
    ("class_name", "message"),
    [
        ("requests.JoinGameRequest", JoinRequest()),
        ("requests.JoinRoomRequest", JoinRoomRequest()),
        ("requests.JoinPreparedRoomRequest", JoinPreparedRequest()),
        ("requests.AuthenticateRequest", AuthenticateRequest()),
        ("requests.PrepareGameRequest", PrepareRequest(None, ())),
        ("requests.ObservationRequest", ObserveRequest()),
        ("requests.PauseGameRequest", PauseRequest(None, is_paused=False)),
        ("requests.StepRequest", StepRequest(None)),
        ("requests.CancelRequest", CancelRequest()),
        ("requests.TestModeRequest", TestModeRequest(is_enabled=False)),
        ("requests.PlayerScoreRequest", ScoreForPlayerRequest()),
        ("responses.JoinedRoomResponse", Joined(None)),
        ("responses.RoomWasJoinedEvent", JoinedGameRoom(None)),
        ("responses.GamePreparedResponse", Prepared(None)),
        ("responses.ObservationResponse", Observed(None)),
        ("responses.TestModeResponse", Testing(is_enabled=False)),
        ("responses.ErrorPacket", ErrorPacket("")),
        ("room.RoomPacket", RoomMessage(None, None)),
        ("RemovedFromGame", Left(None)),
    ],
)
def test_class_names_are_further_tags(class_name: str, message: Message) -> None:
    assert decode(f"<sc.protocol.{class_name}/>") == message


def test_the_class_name_of_player_score() -> None:
    tag = "sc.protocol.responses.PlayerScoreResponse"
    assert decode(f'<{tag}><score displayName="A" numberOfTests="0"/></{tag}>') == PlayerScore("A", 0, ())


@pytest.mark.parametrize(
    ("tag", "is_known"),
    [
        ("sc.protocol.CloseConnection", True),
        ("sc.protocol.responses.CloseConnection", False),
        ("close", False),
        ("sc.protocol.requests.JoinGameRequest", True),
    ],
)
def test_close_packets_of_the_release(tag: str, is_known: bool) -> None:
    packet = cast("Element", etree.fromstring(f"<{tag}/>"))
    if is_known:
        BLOKUS_2021_RELEASE.decode(packet)
    else:
        with pytest.raises(RemoteProtocolError) as error:
            BLOKUS_2021_RELEASE.decode(packet)
        assert error.value.original == UnknownPacket(tag)


# -- what a server writes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "attributes"),
    [
        (JoinedGameRoom("r", 2, is_existing=True), 'roomId="r" playerCount="2" existing="true"'),
        (JoinedGameRoom("r", 1, is_existing=False), 'roomId="r" playerCount="1" existing="false"'),
        (JoinedGameRoom("r", 1), 'roomId="r" playerCount="1"'),
        (JoinedGameRoom("r"), 'roomId="r"'),
    ],
)
def test_joined_game_room(message: JoinedGameRoom, attributes: str) -> None:
    assert BLOKUS_2021_R3.encode(message).decode() == f"\n  <joinedGameRoom {attributes}/>"
    release = attributes.partition(" existing")[0]
    assert BLOKUS_2021_RELEASE.encode(message).decode() == f"\n  <joinedGameRoom {release}/>"


@pytest.mark.parametrize(
    ("original", "written"),
    [
        (None, ""),
        (UnknownPacket("foo"), '\n    <originalRequest class="foo"/>'),
        (
            PrepareRequest("g", (Slot("a", should_be_paused=True),)),
            (
                '\n    <originalRequest class="prepare" gameType="g" pause="false">'
                '\n      <slot displayName="a" canTimeout="true" reserved="true" shouldBePaused="true"/>'
                "\n    </originalRequest>"
            ),
        ),
        (
            RoomMessage("r", WelcomeMessage(0)),
            (
                '\n    <originalRequest class="room" roomId="r">'
                '\n      <data class="welcomeMessage" color="ONE"/>'
                "\n    </originalRequest>"
            ),
        ),
        (
            ErrorPacket("inner", Joined("r")),
            (
                '\n    <originalRequest class="errorpacket" message="inner">'
                '\n      <originalRequest class="joined" roomId="r"/>'
                "\n    </originalRequest>"
            ),
        ),
    ],
)
def test_an_errorpacket_always_has_an_end_tag(original: Message | None, written: str) -> None:
    packet = ErrorPacket("m", original)
    text = f'\n  <errorpacket message="m">{written}\n  </errorpacket>'
    assert BLOKUS_2021_R3.encode(packet).decode() == text
    assert decode(text.strip()) == packet


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<joinedGameRoom playerCount="x"/>', 'joinedGameRoom playerCount="x" ist keine ganze Zahl'),
    ],
)
def test_unreadable_packets_of_a_server(text: str, problem: str) -> None:
    with pytest.raises(RemoteProtocolError) as error:
        decode(text)
    assert error.value.refusal is Refusal.UNREADABLE_PACKET
    assert str(error.value).endswith(f"cannot be read: {problem}")


@pytest.mark.parametrize(
    "text",
    [
        '<prepared roomId="r"><x/><reservation>c<y/></reservation></prepared>',
        '<errorpacket message="m"><x/><originalRequest class="left"/><originalRequest/></errorpacket>',
        '<room roomId="r"><x/></room>',
    ],
)
def test_unknown_content_is_skipped(text: str) -> None:
    notes: list[str] = []
    BLOKUS_2021_R3.decode(cast("Element", etree.fromstring(text)), notes.append)
    assert notes


# -- writing and reading back -----------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(strategies.messages)
def test_a_written_message_is_read_as_it_was(message: Message) -> None:
    check_there_and_back(message)


@pytest.mark.slow
@settings(max_examples=400)
@given(strategies.messages)
def test_every_written_message_is_read_as_it_was(message: Message) -> None:
    check_there_and_back(message)


def check_there_and_back(message: Message) -> None:
    packet = BLOKUS_2021_R3.encode(message)
    assert packet.startswith(b"\n  <")
    assert packet.endswith(b">")
    connection = Connection(Role.CLIENT, BLOKUS_2021_R3, FROM_SERVER)
    connection.receive_data(connection.send_encoded(packet))
    assert connection.next_event() == message
    assert connection.next_event() is None
    assert not connection.ignored


# -- our own extension ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edition", EDITIONS.values(), ids=lambda edition: edition.name)
def test_status_packets_are_the_same_in_every_edition(edition: Edition) -> None:
    report = '{"a":["<b> & \\"c\\"","ä"]}'
    written = '\n  <status>{"a":["&lt;b> & \\"c\\"","ä"]}\n  </status>'.replace("& ", "&amp; ").replace("b>", "b&gt;")
    assert edition.dialect.encode(StatusRequest()) == b"\n  <status/>"
    assert edition.dialect.encode(Status(report)).decode() == written
    for message in (StatusRequest(), Status(report)):
        element = cast("Element", etree.fromstring(edition.dialect.encode(message)))
        assert edition.dialect.decode(element) == message
