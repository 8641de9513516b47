"""The dialect of a room is recognised from the packets of any season, and then used for the room."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import cast

import pytest
from lxml import etree

from spielleiter.protocol import messages as m
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3, BLOKUS_2021_RELEASE
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027
from spielleiter.protocol.dialects.hase_und_igel_2018 import HASE_UND_IGEL_2018
from spielleiter.protocol.edition_recognition import Recogniser
from spielleiter.protocol.errors import RemoteProtocolError
from spielleiter.server.editions import EDITIONS
from tests.protocol.streams import decode, samples

DIALECTS = [edition.dialect for edition in EDITIONS.values()]
RELEASES = {
    "blokus-2027": BLOKUS_2027,
    "blokus-2021": BLOKUS_2021_R3,
    "blokus-2021-r1": EDITIONS["blokus-2021-r1"].dialect,
    "hase-und-igel-2018": HASE_UND_IGEL_2018,
}
PACKETS = [
    pytest.param(RELEASES[release], packet, id=f"{release} {name}")
    for release in RELEASES
    for name, packet in samples(release).items()
    if name.startswith("memento")
]
RESULTS = [
    pytest.param(RELEASES[release], packet, id=f"{release} {name}")
    for release in ("blokus-2027", "blokus-2021", "hase-und-igel-2018")  # results of r1 look like those of r3
    for name, packet in samples(release).items()
    if name.startswith("result")
]


def read(recogniser: Recogniser, packet: bytes | str) -> m.Message:
    return decode(recogniser.dialect, packet, is_from_server=True)


def room_of(packet: bytes | str) -> str | None:
    return etree.fromstring(packet).get("roomId")


def start(edition: str, room_id: str = "r") -> bytes:
    state = EDITIONS[edition].game.new_state(random.Random(1))
    return EDITIONS[edition].dialect.encode(m.RoomMessage(room_id, m.Memento(state, ("Alice", "Bob"))))


@pytest.mark.parametrize(("dialect", "packet"), PACKETS + RESULTS)
def test_the_packets_of_a_release_are_recognised(dialect: Dialect, packet: bytes) -> None:
    recogniser = Recogniser(DIALECTS)
    message = read(recogniser, packet)
    assert isinstance(message, m.RoomMessage)
    assert isinstance(message.data, m.Memento | m.Result)
    assert recogniser.of_room(room_of(packet)) is dialect


def test_no_dialect_is_asked_for_after_one_that_fits_exactly() -> None:
    asked = []

    def dialects() -> Iterator[Dialect]:
        for dialect in (HASE_UND_IGEL_2018, BLOKUS_2027, BLOKUS_2021_R3):
            asked.append(dialect.name)
            yield dialect

    recogniser = Recogniser(dialects())
    assert read(recogniser, '<joined roomId="r"/>') == m.Joined("r")
    read(recogniser, start("hase-und-igel-2018"))
    assert asked == ["hase-und-igel-2018"]
    read(recogniser, start("blokus-2027", "s"))
    assert asked == ["hase-und-igel-2018", "blokus-2027"]
    read(recogniser, start("blokus-2027", "t"))
    assert recogniser.of_room("t") is BLOKUS_2027


def test_a_result_is_recognised_by_what_the_parts_of_a_score_are() -> None:
    other = BLOKUS_2027.evolve(
        name="other", score_definition=(*BLOKUS_2027.score_definition[:1], m.Fragment("Fische", m.Aggregation.AVERAGE))
    )
    scores = (m.Score(m.Cause.REGULAR, "", (2, 5)), m.Score(m.Cause.REGULAR, "", (0, 3)))
    for dialect in (other, BLOKUS_2027):
        recogniser = Recogniser((other, BLOKUS_2027))
        result = m.Result(dialect.score_definition, scores, (0,), ("Alice", "Bob"))
        read(recogniser, dialect.encode(m.RoomMessage("r", result)))
        assert recogniser.of_room("r") is dialect


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_position_written_by_this_server_is_recognised(edition: str) -> None:
    recogniser = Recogniser(DIALECTS)
    message = read(recogniser, start(edition))
    assert isinstance(message, m.RoomMessage)
    assert isinstance(message.data, m.Memento)
    chosen = recogniser.of_room("r")
    assert chosen is not None
    assert chosen.encode(message) == start(edition)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'turn="0"', b'turn="0" weather="fine"'),
        (b"<board/>", b"<board/><clock>12</clock>"),
        (b"\n", b" "),
    ],
)
def test_a_season_is_recognised_despite_additional_content(old: bytes, new: bytes) -> None:
    packet = start("blokus-2021-r1")
    assert old in packet
    recogniser = Recogniser(DIALECTS)
    read(recogniser, packet.replace(old, new))
    assert recogniser.of_room("r") is EDITIONS["blokus-2021-r1"].dialect


def test_other_data_are_read_but_decide_nothing() -> None:
    recogniser = Recogniser(DIALECTS)
    expected: list[tuple[str, m.RoomData | None]] = [
        ('<room roomId="r"><data class="welcomeMessage" color="blue"/></room>', m.WelcomeMessage(1)),
        ('<room roomId="r"><data class="welcomeMessage" color="two"/></room>', m.WelcomeMessage(1)),
        ('<room roomId="r"><data class="sc.framework.plugins.protocol.MoveRequest"/></room>', m.MoveRequest()),
        ('<room roomId="r"><data class="moveRequest"/></room>', m.MoveRequest()),
        ('<room roomId="r"><data class="paused" paused="true"/></room>', m.Paused(is_paused=True)),
        ('<room roomId="r"/>', None),
    ]
    for packet, data in expected:
        assert read(recogniser, packet) == m.RoomMessage("r", data)
    unknown = read(recogniser, '<room roomId="r"><data class="weather"/></room>')
    assert isinstance(cast("m.RoomMessage", unknown).data, m.UnreadableData)
    assert recogniser.of_room("r") is None


def test_each_room_keeps_its_own_season() -> None:
    recogniser = Recogniser(DIALECTS)
    read(recogniser, start("hase-und-igel-2018", "a"))
    assert recogniser.has_recognised
    read(recogniser, start("blokus-2021-r2", "b"))
    message = read(recogniser, start("blokus-2021-r2", "a"))
    assert isinstance(message, m.RoomMessage)
    assert isinstance(message.data, m.UnreadableData)
    assert recogniser.of_room("a") is HASE_UND_IGEL_2018
    assert recogniser.of_room("b") is EDITIONS["blokus-2021-r2"].dialect
    assert recogniser.of_room("c") is None


def test_moves_and_the_close_packet_are_written_in_the_dialect_of_the_room() -> None:
    recogniser = Recogniser(DIALECTS)
    move = next(iter(EDITIONS["blokus-2021-r3"].game.new_state(random.Random(1)).generate_legal_moves()))
    message = m.RoomMessage("r", m.MoveData(move))
    assert recogniser.dialect.encode(message) == BLOKUS_2027.encode(message)
    assert recogniser.dialect.encode(m.CloseConnection()) == BLOKUS_2027.encode(m.CloseConnection())
    read(recogniser, start("blokus-2021-r3"))
    assert recogniser.dialect.encode(message) == BLOKUS_2021_R3.encode(message)
    assert recogniser.dialect.encode(m.CloseConnection()) == BLOKUS_2021_R3.encode(m.CloseConnection())


def test_packets_outside_rooms_are_read_in_any_season() -> None:
    recogniser = Recogniser(DIALECTS)
    assert read(recogniser, '<error message="no"/>') == m.ErrorPacket("no")
    assert read(recogniser, '<errorpacket message="no"/>') == m.ErrorPacket("no")
    assert read(recogniser, '<left roomId="r"/>') == m.Left("r")
    assert read(recogniser, "<close/>") == m.CloseConnection()
    assert read(recogniser, "<sc.protocol.responses.CloseConnection/>") == m.CloseConnection()


@pytest.mark.parametrize("dialect", [BLOKUS_2027, BLOKUS_2021_RELEASE], ids=lambda dialect: dialect.name)
def test_a_server_may_send_elements_that_a_strict_season_does_not_know(dialect: Dialect) -> None:
    recogniser = Recogniser([dialect])
    packet = '<room roomId="r" new="x"><new/><data class="welcomeMessage" color="ONE"><new/></data></room>'
    assert read(recogniser, packet) == m.RoomMessage("r", m.WelcomeMessage(0))
    with pytest.raises(RemoteProtocolError):
        decode(dialect, packet)
    sent = '<room roomId="r"><data class="weather"/></room>'
    message = decode(dialect, sent, is_from_server=True)
    assert isinstance(cast("m.RoomMessage", message).data, m.UnreadableData)
