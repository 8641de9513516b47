"""The packets that all seasons share, as real clients write them, and every message written and read again."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given, settings
from lxml import etree

from spielleiter.game.blokus.moves import SkipMove
from spielleiter.game.blokus.pieces import Color
from spielleiter.protocol import messages as m
from spielleiter.protocol.connection import Connection, ConnectionClosed, Role, StreamEnd
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3, BLOKUS_2021_RELEASE
from spielleiter.protocol.dialects.packets import attribute_writer
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.limits import FROM_SERVER
from spielleiter.protocol.reading import Element
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import EDITIONS
from tests.protocol import strategies
from tests.protocol.streams import CUTS, LATEST, Cut, all_events, data_of


def decode(text: str) -> m.Message:
    return BLOKUS_2021_R3.decode(cast("Element", etree.fromstring(text)))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<joinedGameRoom playerCount="x"/>', 'joinedGameRoom playerCount="x" ist keine ganze Zahl'),
        ("<playerScore/>", "im Element playerScore fehlt das Element score"),
        ("<playerScore><score/></playerScore>", "im Element score fehlt das Attribut numberOfTests (eine ganze Zahl)"),
        (
            '<playerScore><score numberOfTests="1"><values><value>1</value></values></score></playerScore>',
            "im Element values fehlt fragment oder value",
        ),
        (
            '<playerScore><score numberOfTests="1"><values><fragment/><value>1</value></values></score></playerScore>',
            "im Element fragment fehlt das Element aggregation; erlaubt: SUM, AVERAGE",
        ),
        (
            (
                '<playerScore><score numberOfTests="1"><values><fragment><aggregation>SUM</aggregation></fragment>'
                "<value>x</value></values></score></playerScore>"
            ),
            '"x" im Element value ist keine Zahl',
        ),
    ],
)
def test_a_packet_that_cannot_be_read_says_why(text: str, problem: str) -> None:
    with pytest.raises(RemoteProtocolError) as error:
        decode(text)
    assert error.value.refusal is Refusal.UNREADABLE_PACKET
    assert str(error.value).endswith(f"cannot be read: {problem}")


SLOT = m.Slot("a")


# -- what clients write -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    ("stream", "events"),
    [
        # the start of the stream, and white space
        ('<protocol><join gameType="g"/>', [m.JoinRequest("g")]),
        ('<protocol>\n  <join gameType="g" />\n', [m.JoinRequest("g")]),
        ('<protocol>\r\n\t<join\n\tgameType = "g"\n></join>', [m.JoinRequest("g")]),
        ("<protocol><join gameType='g'/>", [m.JoinRequest("g")]),
        ("<?xml version='1.0'?><stream><join/>", [m.JoinRequest(None)]),
        # every request
        ("<protocol><join/>", [m.JoinRequest()]),
        ('<protocol><joinRoom roomId="r"/>', [m.JoinRoomRequest("r")]),
        ("<protocol><joinRoom/>", [m.JoinRoomRequest()]),
        ('<protocol><joinPrepared reservationCode="c"/>', [m.JoinPreparedRequest("c")]),
        ("<protocol><joinPrepared/>", [m.JoinPreparedRequest()]),
        ('<protocol><authenticate password="p"/>', [m.AuthenticateRequest("p")]),
        ('<protocol><authenticate passphrase="p"/>', [m.AuthenticateRequest("p", "passphrase")]),
        ('<protocol><authenticate passphrase="q" password="p"/>', [m.AuthenticateRequest("p")]),
        ("<protocol><authenticate/>", [m.AuthenticateRequest()]),
        ('<protocol><observe roomId="r"/>', [m.ObserveRequest("r")]),
        ('<protocol><pause roomId="r" pause="true"/>', [m.PauseRequest("r", is_paused=True)]),
        ('<protocol><pause pause="TRUE"/>', [m.PauseRequest(None, is_paused=True)]),
        ('<protocol><pause roomId="r"/>', [m.PauseRequest("r", is_paused=False)]),
        ('<protocol><step roomId="r"/>', [m.StepRequest("r")]),
        ('<protocol><step forced="True" roomId="r"/>', [m.StepRequest("r", is_forced=True)]),
        ('<protocol><cancel roomId="r"/>', [m.CancelRequest("r")]),
        ('<protocol><testMode testMode="true"/>', [m.TestModeRequest(is_enabled=True)]),
        ("<protocol><testMode/>", [m.TestModeRequest(is_enabled=False)]),
        ('<protocol><scoreForPlayer displayName="A"/>', [m.ScoreForPlayerRequest("A")]),
        # prepare and its slots
        ('<protocol><prepare gameType="g"/>', [m.PrepareRequest("g", ())]),
        (
            '<protocol><prepare pause="true" gameType="g"><slot displayName="a"/><slot/></prepare>',
            [m.PrepareRequest("g", (SLOT, m.Slot(None)), is_paused=True)],
        ),
        (
            '<protocol><prepare pause="xyz"><slot reserved="false" canTimeout="1" displayName="ä&quot;"/></prepare>',
            [m.PrepareRequest(None, (m.Slot('ä"', can_timeout=False, is_reserved=False),))],
        ),
        (
            '<protocol><prepare><slot displayName="a" shouldBePaused="true"/></prepare>',
            [m.PrepareRequest(None, (m.Slot("a", should_be_paused=True),))],
        ),
        # unknown content
        ('<protocol><join foo="bar" gameType="g"/>', [m.JoinRequest("g")]),
        ("<protocol><join>text<bar><baz/></bar></join>", [m.JoinRequest()]),
        ('<protocol><prepare><slot displayName="a"><x/></slot><x/></prepare>', [m.PrepareRequest(None, (SLOT,))]),
        # goodbyes
        ("<protocol><close/>", [m.CloseConnection()]),
        ("<protocol><sc.protocol.CloseConnection/>", [m.CloseConnection()]),
        ("<protocol><sc.protocol.responses.CloseConnection/>", [m.CloseConnection()]),
        ("<protocol><join/></protocol>", [m.JoinRequest(), StreamEnd()]),
        ("<protocol/>", [StreamEnd()]),
        # several packets at once
        (
            '<protocol><joinPrepared reservationCode="c"/><room roomId="r"/><close/></protocol>',
            [m.JoinPreparedRequest("c"), m.RoomMessage("r", None), m.CloseConnection(), StreamEnd()],
        ),
        ("<protocol><join/>\n<!-- x --><join/>", [m.JoinRequest(), m.JoinRequest()]),
    ],
)
def test_packets_of_clients(stream: str, events: list[object], cut: Cut) -> None:
    connection = Connection(Role.SERVER, BLOKUS_2021_R3)
    assert all_events(connection, cut(stream.encode())) == [*events, ConnectionClosed()]


@pytest.mark.parametrize(
    ("class_name", "message"),
    [
        ("requests.JoinGameRequest", m.JoinRequest()),
        ("requests.JoinRoomRequest", m.JoinRoomRequest()),
        ("requests.JoinPreparedRoomRequest", m.JoinPreparedRequest()),
        ("requests.AuthenticateRequest", m.AuthenticateRequest()),
        ("requests.PrepareGameRequest", m.PrepareRequest(None, ())),
        ("requests.ObservationRequest", m.ObserveRequest()),
        ("requests.PauseGameRequest", m.PauseRequest(None, is_paused=False)),
        ("requests.StepRequest", m.StepRequest(None)),
        ("requests.CancelRequest", m.CancelRequest()),
        ("requests.TestModeRequest", m.TestModeRequest(is_enabled=False)),
        ("requests.PlayerScoreRequest", m.ScoreForPlayerRequest()),
        ("responses.JoinedRoomResponse", m.Joined(None)),
        ("responses.RoomWasJoinedEvent", m.JoinedGameRoom(None)),
        ("responses.GamePreparedResponse", m.Prepared(None)),
        ("responses.ObservationResponse", m.Observed(None)),
        ("responses.TestModeResponse", m.Testing(is_enabled=False)),
        ("responses.ErrorPacket", m.ErrorPacket("")),
        ("room.RoomPacket", m.RoomMessage(None, None)),
        ("RemovedFromGame", m.Left(None)),
    ],
)
def test_class_names_are_further_tags(class_name: str, message: m.Message) -> None:
    assert decode(f"<sc.protocol.{class_name}/>") == message


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
        assert error.value.original == m.UnknownPacket(tag)


# -- what a server writes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "attributes"),
    [
        (m.JoinedGameRoom("r", 2, is_existing=True), 'roomId="r" playerCount="2" existing="true"'),
        (m.JoinedGameRoom("r", 1, is_existing=False), 'roomId="r" playerCount="1" existing="false"'),
        (m.JoinedGameRoom("r", 1), 'roomId="r" playerCount="1"'),
        (m.JoinedGameRoom("r"), 'roomId="r"'),
    ],
)
def test_joined_game_room(message: m.JoinedGameRoom, attributes: str) -> None:
    assert BLOKUS_2021_R3.encode(message).decode() == f"\n  <joinedGameRoom {attributes}/>"
    release = attributes.partition(" existing")[0]
    assert BLOKUS_2021_RELEASE.encode(message).decode() == f"\n  <joinedGameRoom {release}/>"


@pytest.mark.parametrize(
    ("original", "written"),
    [
        (None, ""),
        (m.UnknownPacket("foo"), '\n    <originalRequest class="foo"/>'),
        (
            m.PrepareRequest("g", (m.Slot("a", should_be_paused=True),)),
            (
                '\n    <originalRequest class="prepare" gameType="g" pause="false">'
                '\n      <slot displayName="a" canTimeout="true" reserved="true" shouldBePaused="true"/>'
                "\n    </originalRequest>"
            ),
        ),
        (
            m.RoomMessage("r", m.WelcomeMessage(0)),
            (
                '\n    <originalRequest class="room" roomId="r">'
                '\n      <data class="welcomeMessage" color="ONE"/>'
                "\n    </originalRequest>"
            ),
        ),
        (
            m.ErrorPacket("inner", m.Joined("r")),
            (
                '\n    <originalRequest class="errorpacket" message="inner">'
                '\n      <originalRequest class="joined" roomId="r"/>'
                "\n    </originalRequest>"
            ),
        ),
    ],
)
def test_an_errorpacket_always_has_an_end_tag(original: m.Message | None, written: str) -> None:
    packet = m.ErrorPacket("m", original)
    text = f'\n  <errorpacket message="m">{written}\n  </errorpacket>'
    assert BLOKUS_2021_R3.encode(packet).decode() == text
    assert decode(text.strip()) == packet


@pytest.mark.parametrize(
    "text",
    [
        '<prepared roomId="r"><x/><reservation>c<y/></reservation></prepared>',
        '<errorpacket message="m"><x/><originalRequest class="left"/><originalRequest/></errorpacket>',
        '<room roomId="r"><x/></room>',
        '<playerScore><score displayName="A" numberOfTests="1"><x/></score><x/></playerScore>',
    ],
)
def test_unknown_content_is_skipped(text: str) -> None:
    notes: list[str] = []
    BLOKUS_2021_R3.decode(cast("Element", etree.fromstring(text)), notes.append)
    assert notes


# -- writing and reading back -----------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(strategies.messages)
def test_a_written_message_is_read_as_it_was(message: m.Message) -> None:
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
    assert edition.dialect.encode(m.StatusRequest()) == b"\n  <status/>"
    assert edition.dialect.encode(m.Status(report)).decode() == written
    for message in (m.StatusRequest(), m.Status(report)):
        element = cast("Element", etree.fromstring(edition.dialect.encode(message)))
        assert edition.dialect.decode(element) == message


DEFINITION = (m.Fragment("Gewinner", m.Aggregation.SUM), m.Fragment("∅ Punkte", m.Aggregation.AVERAGE))
LEFT = "Der Spieler hat das Spiel verlassen"


def sample(name: str) -> Any:
    return data_of(BLOKUS_2021_R3, LATEST[name].decode())


def encode(data: m.RoomData) -> str:
    return BLOKUS_2021_R3.encode(m.RoomMessage("r", data)).decode()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("welcome_one", m.WelcomeMessage(0)),
        ("welcome_two", m.WelcomeMessage(1)),
        ("move_request", m.MoveRequest()),
        ("paused_true", m.Paused(is_paused=True)),
        ("paused_false", m.Paused(is_paused=False)),
        (
            "result_regular",
            m.Result(
                DEFINITION, (m.Score(m.Cause.REGULAR, "", (2, 136)), m.Score(m.Cause.REGULAR, "", (0, 127))), (0,)
            ),
        ),
        (
            "result_draw",
            m.Result(
                DEFINITION,
                (m.Score(m.Cause.REGULAR, "", (1, 10)), m.Score(m.Cause.REGULAR, "", (1, 10))),
                (0, 1),
                ("Eins", "Zwei"),
            ),
        ),
        (
            "result_both_left",
            m.Result(DEFINITION, (m.Score(m.Cause.LEFT, LEFT, (0, 0)), m.Score(m.Cause.LEFT, LEFT, (0, 0))), ()),
        ),
        (
            "result_left",
            m.Result(
                DEFINITION,
                (m.Score(m.Cause.REGULAR, "", (2, 15)), m.Score(m.Cause.LEFT, LEFT, (0, 10))),
                (0,),
                ("Eins", ""),
            ),
        ),
    ],
)
def test_recorded_data_are_read(name: str, data: m.RoomData) -> None:
    assert sample(name) == data


def test_an_error_carries_the_move() -> None:
    error = sample("error_not_your_turn")
    assert isinstance(error, m.ErrorMessage)
    assert error.message.startswith("It's not your turn yet; expected: Team 1(Eins)")
    assert isinstance(error.original, m.MoveData)


@pytest.mark.parametrize(
    ("original", "written"),
    [
        (None, ""),
        (m.UnreadableData("foo.Bar", "p"), '\n      <originalMessage class="foo.Bar"/>\n    '),
        (m.UnreadableData(None, "p"), "\n      <originalMessage/>\n    "),
        (
            m.MoveData(SkipMove(Color.RED)),
            (
                '\n      <originalMessage class="sc.plugin2021.SkipMove">\n        <color>RED</color>'
                "\n      </originalMessage>\n    "
            ),
        ),
    ],
)
def test_an_error_repeats_what_was_understood(original: m.RoomData | None, written: str) -> None:
    end = f">{written}</data>" if written else "/>"
    assert encode(m.ErrorMessage("m", original)) == (
        f'\n  <room roomId="r">\n    <data class="error" message="m"{end}\n  </room>'
    )


def test_an_error_with_something_unreadable_is_read() -> None:
    error = data_of(BLOKUS_2021_R3, '<room><data class="error" message="m"><originalMessage class="x"/></data></room>')
    assert isinstance(error, m.ErrorMessage)
    assert isinstance(error.original, m.UnreadableData)
    assert error.original.class_name == "x"


def test_the_names_of_seats_are_those_of_the_dialect() -> None:
    older = BLOKUS_2021_R3.evolve(
        welcome_names=("one", "two"), team_names=("RED", "BLUE"), data_writers={m.MoveRequest: attribute_writer("ask")}
    )
    assert b'color="two"' in older.encode(m.RoomMessage("r", m.WelcomeMessage(1)))
    assert b'<color class="team">BLUE</color>' in older.encode(m.RoomMessage("r", m.Result((), (), (1,))))
    assert b'<data class="ask"/>' in older.encode(m.RoomMessage("r", m.MoveRequest()))


@pytest.mark.parametrize(
    ("class_name", "data"),
    [
        ("sc.shared.WelcomeMessage", m.WelcomeMessage(0)),
        ("sc.protocol.room.GamePaused", m.Paused(is_paused=False)),
        ("sc.protocol.room.ErrorMessage", m.ErrorMessage("")),
        ("sc.shared.GameResult", m.Result((), (), ())),
    ],
)
def test_class_names_are_further_classes(class_name: str, data: m.RoomData) -> None:
    assert data_of(BLOKUS_2021_R3, f'<room><data class="{class_name}" color="ONE"/></room>') == data


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (
            '<data class="welcomeMessage" color="THREE"/>',
            'welcomeMessage color="THREE" gibt es nicht; erlaubt: ONE, TWO',
        ),
        ('<data class="welcomeMessage"/>', 'welcomeMessage color="" gibt es nicht; erlaubt: ONE, TWO'),
        (
            '<data class="result"><score cause="BAD"/></data>',
            f'score cause="BAD" gibt es nicht; erlaubt: {", ".join(cause.value for cause in m.Cause)}',
        ),
        (
            '<data class="result"><score cause="LEFT"><part>1.5</part></score></data>',
            '"1.5" im Element part ist keine ganze Zahl',
        ),
        ('<data class="result"><winner/></data>', "im Element winner fehlt das Element color; erlaubt: ONE, TWO"),
        (
            '<data class="result"><winner><color>X</color></winner></data>',
            'winner color="X" gibt es nicht; erlaubt: ONE, TWO',
        ),
        (
            '<data class="result"><definition><fragment/></definition></data>',
            "im Element fragment fehlt das Element aggregation; erlaubt: SUM, AVERAGE",
        ),
    ],
)
def test_unreadable_data_say_why(data: str, problem: str) -> None:
    found = data_of(BLOKUS_2021_R3, f"<room>{data}</room>")
    assert isinstance(found, m.UnreadableData)
    assert found.problem == problem


@pytest.mark.parametrize(
    "data",
    [
        '<data class="welcomeMessage" color="ONE"><x/></data>',
        '<data class="paused"><x/></data>',
        '<data class="sc.framework.plugins.protocol.MoveRequest"><x/></data>',
        '<data class="error"><x/></data>',
        '<data class="result"><x/></data>',
        '<data class="result"><definition><x/></definition></data>',
        '<data class="result"><score cause="LEFT"><x/></score></data>',
        '<data class="result"><winner><x/><color>ONE</color></winner></data>',
        '<data class="result"><definition><fragment><aggregation>SUM</aggregation><x/></fragment></definition></data>',
    ],
)
def test_unknown_children_are_skipped(data: str) -> None:
    notes: list[str] = []
    assert not isinstance(data_of(BLOKUS_2021_R3, f"<room>{data}</room>", notes), m.UnreadableData | m.Memento)
    assert len(notes) == 1
    assert notes[0].startswith("<x> in <")
