"""The editions of Blokus 2021 against recorded bytes."""

from __future__ import annotations

import pytest

from spielleiter.game.blokus.state import RULES_2021, BlokusState
from spielleiter.protocol.connection import Connection, ConnectionClosed, Event, Role, StreamEnd
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3, BLOKUS_2021_RELEASE
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.limits import AFTER_JOIN, FROM_SERVER
from spielleiter.protocol.messages import JoinRequest, Memento, PrepareRequest, RoomMessage, Slot
from tests.protocol.recordings import read_streams
from tests.protocol.streams import CUTS, LATEST, ONE_LINE_MOVE, Cut, all_events, stream_of, whole
from tests.shared import SHARED, needs_shared

EDITIONS = [BLOKUS_2021_R3, BLOKUS_2021_RELEASE]


def by_name(dialect: Dialect) -> str:
    return dialect.name


def server_stream(events: list[Event], dialect: Dialect) -> bytes:
    """The bytes of a server that has sent `events`."""
    connection = Connection(Role.SERVER, dialect)
    stream = b""
    for event in events:
        if isinstance(event, StreamEnd):
            stream += connection.close()
        elif not isinstance(event, ConnectionClosed):
            stream += connection.send(event)
    return stream


# -- every recorded packet --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", EDITIONS, ids=by_name)
@pytest.mark.parametrize("name", LATEST)
def test_a_recorded_packet_is_written_as_it_was_read(name: str, dialect: Dialect) -> None:
    stream = stream_of(LATEST[name])
    connection = Connection(Role.CLIENT, dialect)
    events = all_events(connection, whole(stream))
    assert len(events) == 3
    assert server_stream(events, dialect) == stream
    assert not connection.ignored


@pytest.mark.parametrize("cut", CUTS)
def test_recorded_packets_in_one_stream(cut: Cut) -> None:
    stream = stream_of(*(packet for packet in LATEST.values() if len(packet) < 1200))
    events = all_events(Connection(Role.CLIENT, BLOKUS_2021_R3), cut(stream))
    assert server_stream(events, BLOKUS_2021_R3) == stream


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS)
def test_all_recorded_packets_in_one_stream(cut: Cut) -> None:
    stream = stream_of(*LATEST.values())
    events = all_events(Connection(Role.CLIENT, BLOKUS_2021_R3), cut(stream))
    assert server_stream(events, BLOKUS_2021_R3) == stream


@pytest.mark.parametrize("name", LATEST)
def test_a_server_reads_packets_that_only_servers_send(name: str) -> None:
    events = all_events(Connection(Role.SERVER, BLOKUS_2021_R3, AFTER_JOIN), whole(stream_of(LATEST[name])))
    assert server_stream(events, BLOKUS_2021_R3) == stream_of(LATEST[name])


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
            PrepareRequest("g", (Slot("x", can_timeout=True, is_reserved=True),)),
            PrepareRequest("g", (Slot("x", can_timeout=False, is_reserved=False),)),
        ),
        ('<join gameType="g" foo="bar"/>', JoinRequest("g"), JoinRequest("g")),
        ('<join gameType="g"><bar/></join>', JoinRequest("g"), Refusal.UNREADABLE_PACKET),
        ("<foo/>", Refusal.UNKNOWN_PACKET, Refusal.UNKNOWN_PACKET),
        ("<state/>", Refusal.UNKNOWN_PACKET, Refusal.UNKNOWN_PACKET),
        ("<join></room>", Refusal.MALFORMED, Refusal.MALFORMED),
        ('<room roomId="r"/>', RoomMessage("r", None), RoomMessage("r", None)),
        ('<room roomId="r"><foo/></room>', RoomMessage("r", None), Refusal.UNREADABLE_PACKET),
    ],
)
def test_packets_that_the_release_read_differently(
    packet: str, latest: Event | Refusal, release: Event | Refusal
) -> None:
    assert first_event(BLOKUS_2021_R3, packet) == latest
    assert first_event(BLOKUS_2021_RELEASE, packet) == release


def rules_read_by(dialect: Dialect) -> object:
    event = all_events(Connection(Role.CLIENT, dialect), whole(stream_of(LATEST["memento_mid"])))[0]
    assert isinstance(event, RoomMessage)
    assert isinstance(event.data, Memento)
    assert isinstance(event.data.state, BlokusState)
    return event.data.state.rules


def test_positions_are_read_with_the_editions_rules() -> None:
    assert rules_read_by(BLOKUS_2021_R3) == RULES_2021
    rules = rules_read_by(BLOKUS_2021_RELEASE)
    assert rules != RULES_2021
    assert not rules.ends_with_finished_color  # type: ignore[attr-defined]


def test_the_editions_have_different_names() -> None:
    assert [dialect.name for dialect in EDITIONS] == ["blokus-2021-r3", "blokus-2021-21.4.0"]
    assert [dialect.is_strict for dialect in EDITIONS] == [False, True]


def test_a_move_on_one_line_is_read() -> None:
    assert first_event(BLOKUS_2021_RELEASE, ONE_LINE_MOVE.decode()) == first_event(
        BLOKUS_2021_R3, ONE_LINE_MOVE.decode()
    )


# -- whole conversations with the official server ---------------------------------------------------------------------


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("dialect", EDITIONS, ids=by_name)
@pytest.mark.parametrize("name", ["whole_game_join", "whole_game_admin"])
def test_whole_games_are_written_as_they_were_read(name: str, dialect: Dialect) -> None:
    assert SHARED is not None
    streams = read_streams(SHARED / f"transcripts/blokus-2021/{name}.txt.gz")
    assert len(streams) >= 4
    for stream in streams:
        role, limits = (Role.SERVER, AFTER_JOIN) if stream.is_to_server else (Role.CLIENT, FROM_SERVER)
        connection = Connection(role, dialect, limits)
        events = all_events(connection, whole(stream.data))
        assert len(events) > 5
        assert server_stream(events, dialect) == stream.data
        assert not connection.ignored


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("dialect", EDITIONS, ids=by_name)
def test_special_cases_of_the_official_server_are_written_as_they_were_read(dialect: Dialect) -> None:
    assert SHARED is not None
    packets = 0
    for path in sorted((SHARED / "transcripts/blokus-2021/cases").glob("*.txt")):
        for stream in read_streams(path):
            if not stream.is_to_server and stream.data != b"<protocol/>":
                events = all_events(Connection(Role.CLIENT, dialect), whole(stream.data))
                assert server_stream(events, dialect) == stream.data, (path.name, stream.connection)
                packets += len(events)
    assert packets > 500


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
