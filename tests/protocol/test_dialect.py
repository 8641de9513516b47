"""Dialects: their tables, the plain form of moves, and the writer of a room."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from spielleiter.protocol import messages as m
from spielleiter.protocol.all_seasons import reading_all_requests
from spielleiter.protocol.connection import Connection, Event, Role
from spielleiter.protocol.current_season import DEFAULT_DIALECT, DEFAULT_GAME_TYPE
from spielleiter.protocol.dialect import Dialect, PlainForm, RoomWriter
from spielleiter.protocol.dialects.blokus_2021 import (
    BLOKUS_2021_R1,
    BLOKUS_2021_R2,
    BLOKUS_2021_R3,
    BLOKUS_2021_RELEASE,
)
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027
from spielleiter.protocol.dialects.hase_und_igel_2018 import HASE_UND_IGEL_2018
from spielleiter.protocol.dialects.packets import attribute_reader, attribute_writer
from spielleiter.protocol.errors import LocalProtocolError, Refusal, RemoteProtocolError
from spielleiter.protocol.limits import AFTER_JOIN, Limits
from spielleiter.server.editions import EDITIONS, choose_default, choose_editions
from tests.protocol import strategies
from tests.protocol.strategies import random_game
from tests.protocol.streams import CUTS, Cut, all_events, decode, stream_of, whole
from tests.protocol.test_packet_reader import count_what_is_parsed


def test_evolving_merges_tables_and_replaces_values() -> None:
    other = BLOKUS_2021_R3.evolve(
        name="other",
        readers={"enter": attribute_reader(m.JoinRequest, ["game"]), "join": None},
        writers={m.CloseConnection: attribute_writer("bye"), m.Left: None},
    )
    assert other.name == "other"
    assert other.data_readers == BLOKUS_2021_R3.data_readers
    assert decode(other, '<enter game="x"/>') == m.JoinRequest("x")
    assert decode(other, "<left/>") == m.Left(None)
    assert other.encode(m.CloseConnection()) == b"\n  <bye/>"
    with pytest.raises(RemoteProtocolError):
        decode(other, "<join/>")
    with pytest.raises(LocalProtocolError, match="other has no way to write Left"):
        other.encode(m.Left("r"))
    assert BLOKUS_2021_R3.encode(m.Left("r")) == b'\n  <left roomId="r"/>'


# -- a client whose edition is not known yet --------------------------------------------------------------------------


@pytest.mark.parametrize("name", EDITIONS)
def test_requests_of_all_editions_are_understood_and_can_be_repeated(name: str) -> None:
    """The table of them has everything that any edition reads, so that no edition has to be imported for it."""
    own = EDITIONS[name].dialect
    assert {kind for kind in m.REQUEST_TYPES if kind not in own.writers} == EDITIONS[name].policy.missing_requests
    for other in (BLOKUS_2021_RELEASE, BLOKUS_2027, HASE_UND_IGEL_2018):
        wide = reading_all_requests(other)
        assert own.readers.keys() <= wide.readers.keys()
        assert wide.writers.keys() >= m.REQUEST_TYPES
        assert {tag: wide.readers[tag] for tag in other.readers} == other.readers, "its own form goes first"
        assert wide.data_readers == other.data_readers


def test_a_request_of_another_season_is_repeated_in_its_form() -> None:
    wide = reading_all_requests(BLOKUS_2021_RELEASE)
    request = decode(wide, '<timeout roomId="r" slot="1" activate="true"/>')
    assert wide.encode(request) == b'\n  <timeout roomId="r" activate="true" slot="1"/>'
    with pytest.raises(RemoteProtocolError, match="is not a packet"):
        decode(BLOKUS_2021_RELEASE, '<timeout roomId="r" slot="1" activate="true"/>')


def test_missing_attributes_of_a_slot_get_the_defaults_of_the_edition() -> None:
    request = decode(BLOKUS_2021_R3, '<prepare gameType="g"><slot displayName="a" reserved="true"/><slot/></prepare>')
    assert isinstance(request, m.PrepareRequest)
    assert BLOKUS_2021_R3.with_defaults(request) == request
    assert BLOKUS_2021_RELEASE.with_defaults(request).slots == (
        m.Slot("a", can_timeout=False, is_reserved=True),
        m.Slot(None, can_timeout=False, is_reserved=False),
    )


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
        assert isinstance(request, m.PrepareRequest)
        with pytest.raises(RemoteProtocolError) as error:
            narrow.with_defaults(request)
        assert (error.value.refusal, str(error.value)) == (Refusal.UNREADABLE_PACKET, where)
        assert error.value.original == request


JOIN = PlainForm(
    lambda: re.compile(rb"\s*<join/>\s*"), lambda _match: m.CancelRequest("read in the plain form"), 2, 0, 0
)
PLAIN = BLOKUS_2021_R3.evolve(plain_forms=(JOIN,))


def packets(stream: bytes, limits: Limits = AFTER_JOIN, cut: Cut = whole) -> list[Event]:
    return all_events(Connection(Role.SERVER, PLAIN, limits), cut(stream))[:-2]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    "inside",
    [
        b"<!-- > <join/> -->",
        b"<!-- > <a>--><join x=''/><join x=''></join><!--</a> -->",
        b"<?pi > <join/> ?>",
        b"<![CDATA[ > <join/> ]]>",
        b"<cancel roomId='> &lt;join/>'><!-- > <join/> --></cancel>",
    ],
)
def test_text_that_looks_like_a_packet_is_not_read_as_one(inside: bytes, cut: Cut) -> None:
    without = all_events(Connection(Role.SERVER, BLOKUS_2021_R3, AFTER_JOIN), cut(stream_of(b"<join x=''/>", inside)))
    assert packets(stream_of(b"<join x=''/>", inside), cut=cut) == without[:-2]


@pytest.mark.parametrize("limit", ["depth", "attributes", "children"])
def test_the_parser_reads_if_the_form_does_not_fit(limit: str) -> None:
    large = replace(JOIN, **{limit: getattr(AFTER_JOIN, limit) + 1})
    connection = Connection(Role.SERVER, BLOKUS_2021_R3.evolve(plain_forms=(large,)), AFTER_JOIN)
    assert all_events(connection, whole(stream_of(b"<join/><join/>")))[:2] == [m.JoinRequest(None)] * 2


def test_a_packet_above_the_limit_of_bytes_is_refused() -> None:
    connection = Connection(Role.SERVER, PLAIN, replace(AFTER_JOIN, packet_bytes=40))
    connection.receive_data(b"<protocol><join/>" + b" " * 34 + b"<join/>")
    assert connection.next_event() == m.JoinRequest(None)
    with pytest.raises(RemoteProtocolError) as error:
        connection.next_event()
    assert error.value.refusal is Refusal.PACKET_SIZE


def test_packets_that_a_form_cannot_read_are_read_from_the_tree() -> None:
    def nothing(_match: re.Match[bytes]) -> m.Message | None:
        return None

    dialect = BLOKUS_2021_R3.evolve(plain_forms=(replace(JOIN, read=nothing),))
    connection = Connection(Role.SERVER, dialect, AFTER_JOIN)
    assert all_events(connection, whole(stream_of(b"<join/><join/>")))[:2] == [m.JoinRequest(None)] * 2


@pytest.mark.parametrize(
    ("stream", "where"),
    [
        (b"<protocol>\n<join x=''/>\n<join/>\n  <join/>\n <a b=c/>", "packet 4, line 5, column 7"),
        (b"<protocol><join x=''/><join/><join/><a b=c/>", "packet 4, line 1, column 42"),
        (b"<protocol><join x=''/>\n<join/><join/><a b=c/>", "packet 4, line 2, column 20"),
    ],
)
def test_faults_after_it_are_reported_with_the_right_position(stream: bytes, where: str) -> None:
    with pytest.raises(RemoteProtocolError, match=where):
        packets(stream)
    with pytest.raises(RemoteProtocolError, match=where):
        all_events(Connection(Role.SERVER, BLOKUS_2021_R3, AFTER_JOIN), whole(stream))


def test_the_input_of_the_parser_for_skipped_packets_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line's end for each line: refused moves alone must not add up to all that a peer has ever sent."""
    parser = count_what_is_parsed(monkeypatch)
    connection = Connection(Role.SERVER, PLAIN, AFTER_JOIN)
    connection.receive_data(b"<protocol><join x=''/>")
    assert connection.next_event() == m.JoinRequest(None)
    longest = 0
    for _ in range(100):
        before = parser.bytes
        connection.receive_data(b"\n" * 1000 + b"<join/>")
        assert connection.next_event() is not None
        longest = max(longest, parser.bytes - before)
    assert 0 < longest < 20_000
    connection.receive_data(b"<a b=c/>")
    with pytest.raises(RemoteProtocolError, match=r"packet 102, line 100001, column 13"):
        connection.next_event()


BLOKUS = [BLOKUS_2021_R3, BLOKUS_2021_R2, BLOKUS_2021_R1, BLOKUS_2027]
INDENTS = ["\n  ", "\n"]


@settings(max_examples=40)
@given(st.lists(strategies.mementos | strategies.room_data, min_size=2, max_size=4), st.sampled_from(INDENTS))
def test_anything_is_written_as_the_dialect_does(messages: list[m.RoomData], indent: str) -> None:
    writer = RoomWriter(BLOKUS_2021_R3, "<a room>", indent)
    for data in messages:
        assert writer.encode(data) == BLOKUS_2021_R3.encode(m.RoomMessage("<a room>", data), indent)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", BLOKUS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("indent", INDENTS)
def test_a_game_is_written_as_the_dialect_does(dialect: Dialect, indent: str) -> None:
    writer = RoomWriter(dialect, "r", indent)
    for state in (*random_game(3), *reversed(random_game(2))):
        memento = m.Memento(state, ("a", "b"), ("hint",) if state.last_move else ())
        assert writer.encode(memento) == dialect.encode(m.RoomMessage("r", memento), indent)


def test_how_a_request_was_written_is_neither_compared_nor_shown_and_a_password_is_not_shown() -> None:
    written, made = m.Slot("a", given=frozenset({"displayName"})), m.Slot("a")
    assert (written, hash(written), repr(written)) == (made, hash(made), repr(made))
    assert made != m.Slot("b")
    assert m.PrepareRequest("a", (written,)) == m.PrepareRequest("a", (made,), given=frozenset({"gameType"}))
    assert "secret" not in repr(m.AuthenticateRequest("secret"))


def test_data_without_a_packet_are_refused() -> None:
    writer = RoomWriter(BLOKUS_2021_R3.evolve(data_writers={m.MoveRequest: None, m.Memento: None}), "r")
    for data in (m.MoveRequest(), m.Memento(random_game(0)[0])):
        with pytest.raises(LocalProtocolError):
            writer.encode(data)


def test_the_current_season_is_what_a_server_plays_by_default() -> None:
    editions = choose_editions({}, {})
    edition = choose_default(None, dict(reversed(editions.items())))
    assert edition is editions[DEFAULT_GAME_TYPE]
    assert edition.dialect is DEFAULT_DIALECT, (
        f"set DEFAULT_DIALECT in protocol/current_season.py to the dialect {edition.dialect.name!r}"
    )
