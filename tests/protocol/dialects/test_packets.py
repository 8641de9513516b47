"""The packets that all seasons share, as real clients write them, and every message written and read again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings

from spielleiter.game.blokus.moves import SkipMove
from spielleiter.game.blokus.pieces import Color
from spielleiter.protocol import messages as m
from spielleiter.protocol.connection import Connection, ConnectionClosed, Role, StreamEnd
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.limits import FROM_SERVER
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import EDITIONS
from tests.protocol import strategies
from tests.protocol.streams import all_events, data_of, decode, whole


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
        decode(BLOKUS_2021_R3, text)
    assert error.value.refusal is Refusal.UNREADABLE_PACKET
    assert str(error.value).endswith(f"cannot be read: {problem}")


# -- what clients write -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        # the start of the stream, and white space
        ('\r\n\t<join\n\tgameType = "g"\n></join>', [m.JoinRequest("g")]),
        ("<join gameType='g'/>", [m.JoinRequest("g")]),
        # requests and their defaults
        ("<joinRoom/><joinPrepared/>", [m.JoinRoomRequest(), m.JoinPreparedRequest()]),
        ('<authenticate passphrase="q" password="p"/>', [m.AuthenticateRequest("p")]),
        ('<authenticate passphrase="p"/>', [m.AuthenticateRequest("p", "passphrase")]),
        ("<authenticate/>", [m.AuthenticateRequest()]),
        ('<pause pause="TRUE"/>', [m.PauseRequest(None, is_paused=True)]),
        ('<pause roomId="r"/>', [m.PauseRequest("r", is_paused=False)]),
        ('<step forced="True" roomId="r"/>', [m.StepRequest("r", is_forced=True)]),
        ("<testMode/>", [m.TestModeRequest(is_enabled=False)]),
        ('<prepare gameType="g" pause="true"/>', [m.PrepareRequest("g", (), is_paused=True)]),
        (
            '<prepare pause="xyz"><slot reserved="false" canTimeout="1" displayName="ä&quot;"/><slot/></prepare>',
            [m.PrepareRequest(None, (m.Slot('ä"', can_timeout=False, is_reserved=False), m.Slot(None)))],
        ),
        (
            '<prepare><slot shouldBePaused="true"/></prepare>',
            [m.PrepareRequest(None, (m.Slot(None, should_be_paused=True),))],
        ),
        # unknown content
        ("<join foo='bar'>text<bar><baz/></bar></join>", [m.JoinRequest()]),
        ('<prepare><slot displayName="a"><x/></slot><x/></prepare>', [m.PrepareRequest(None, (m.Slot("a"),))]),
        # goodbyes
        ("<close/><sc.protocol.CloseConnection/>", [m.CloseConnection(), m.CloseConnection()]),
        ("<join/>\n<!-- x --><join/></protocol>", [m.JoinRequest(), m.JoinRequest(), StreamEnd()]),
    ],
)
def test_packets_of_clients(stream: str, events: list[object]) -> None:
    connection = Connection(Role.SERVER, BLOKUS_2021_R3)
    assert all_events(connection, whole(f"<protocol>{stream}".encode())) == [*events, ConnectionClosed()]


# -- what a server writes ---------------------------------------------------------------------------------------------


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
    assert decode(BLOKUS_2021_R3, text.strip()) == packet


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


def test_no_password_is_shown() -> None:
    assert repr(m.AuthenticateRequest("geheim", "passphrase")) == "AuthenticateRequest(attribute='passphrase')"


# -- our own extension ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edition", EDITIONS.values(), ids=lambda edition: edition.name)
@pytest.mark.parametrize(
    ("tag", "request_", "answer"),
    [
        ("status", m.StatusRequest(), m.Status),
        ("feed", m.FeedRequest(), m.FeedUpdate),
        ("metrics", m.MetricsRequest(), m.MetricsText),
    ],
)
def test_our_own_packets_are_the_same_in_every_edition(
    edition: Edition, tag: str, request_: m.Message, answer: Callable[[str], m.Message]
) -> None:
    text = '{"a":["<b> & \\"c\\"","ä"]}'
    escaped = '{"a":["&lt;b&gt; &amp; \\"c\\"","ä"]}'
    assert edition.dialect.encode(request_).decode() == f"\n  <{tag}/>"
    assert edition.dialect.encode(answer(text)).decode() == f"\n  <{tag}>{escaped}\n  </{tag}>"
    for message in (request_, answer(text)):
        assert decode(edition.dialect, edition.dialect.encode(message)) == message


@pytest.mark.parametrize("edition", EDITIONS.values(), ids=lambda edition: edition.name)
def test_a_game_is_prepared_from_a_position(edition: Edition) -> None:
    document = '<protocol>\n<room roomId="&amp;ä"/>\n</protocol>'
    slots = tuple(edition.dialect.with_defaults(m.PrepareRequest("g", (m.Slot("a"), m.Slot("b")))).slots)
    request_ = m.PrepareRequest("g", slots, position=document)
    packet = edition.dialect.encode(request_)
    assert b'<position>&lt;protocol&gt;\n&lt;room roomId="&amp;amp;\xc3\xa4"/&gt;' in packet
    assert decode(edition.dialect, packet) == request_


def test_unknown_elements_beside_the_slots_are_skipped() -> None:
    connection = Connection(Role.SERVER, BLOKUS_2021_R3)
    connection.receive_data(b"<protocol><prepare><foo/><position>p</position></prepare>")
    assert connection.next_event() == m.PrepareRequest(None, (), position="p")
    assert connection.ignored == ("<foo> in <prepare>",)


def encode(data: m.RoomData) -> str:
    return BLOKUS_2021_R3.encode(m.RoomMessage("r", data)).decode()


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
