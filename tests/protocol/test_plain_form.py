"""A plain form is used only at the beginning of a packet, and only if the packet is within all limits."""

from __future__ import annotations

import dataclasses
import re

import pytest

from spielleiter.protocol.connection import Connection, Event, Role
from spielleiter.protocol.dialect import PlainForm
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.limits import AFTER_JOIN, Limits
from spielleiter.protocol.messages import CancelRequest, JoinRequest, Message
from tests.protocol.streams import CUTS, Cut, all_events, stream_of, whole
from tests.protocol.test_reader_work import CountingParser

JOIN = PlainForm(re.compile(rb"\s*<join/>\s*"), lambda _match: CancelRequest("read in the plain form"), 2, 0, 0)
PLAIN = BLOKUS_2021_R3.evolve(plain_forms=(JOIN,))


def packets(stream: bytes, limits: Limits = AFTER_JOIN, cut: Cut = whole) -> list[Event]:
    return all_events(Connection(Role.SERVER, PLAIN, limits), cut(stream))[:-2]


def test_the_parser_reads_the_first_packet_and_the_form_those_after_it() -> None:
    assert packets(stream_of(b"<join/>", b"\n <join/> ", b"<join />", b"<join/>")) == [
        JoinRequest(None),
        CancelRequest("read in the plain form"),
        JoinRequest(None),
        CancelRequest("read in the plain form"),
    ]


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


def test_after_an_incomplete_character_the_parser_reads() -> None:
    broken = stream_of(b"<join x=''/>", b"\xc3<join/>")
    plainly, otherwise = (
        all_events(Connection(Role.SERVER, dialect, AFTER_JOIN), whole(broken)) for dialect in (PLAIN, BLOKUS_2021_R3)
    )
    assert plainly == otherwise


@pytest.mark.parametrize(
    ("limits", "is_fit"),
    [
        ({}, True),
        ({"depth": 4}, False),
        ({"attributes": 3}, False),
        ({"children": 2}, False),
        ({"depth": 5, "attributes": 4, "children": 3}, True),
    ],
)
def test_a_form_is_not_used_if_it_could_exceed_a_limit(limits: dict[str, int], is_fit: bool) -> None:
    form = BLOKUS_2021_R3.plain_forms[0]
    assert form.fits(dataclasses.replace(AFTER_JOIN, **limits)) is is_fit


def test_the_parser_reads_if_the_form_does_not_fit() -> None:
    deep = BLOKUS_2021_R3.evolve(plain_forms=(dataclasses.replace(JOIN, depth=99),))
    connection = Connection(Role.SERVER, deep, AFTER_JOIN)
    assert all_events(connection, whole(stream_of(b"<join/><join/>")))[:2] == [JoinRequest(None)] * 2


def test_a_packet_above_the_limit_of_bytes_is_refused() -> None:
    connection = Connection(Role.SERVER, PLAIN, dataclasses.replace(AFTER_JOIN, packet_bytes=40))
    connection.receive_data(b"<protocol><join/>" + b" " * 34 + b"<join/>")
    assert connection.next_event() == JoinRequest(None)
    with pytest.raises(RemoteProtocolError) as error:
        connection.next_event()
    assert error.value.refusal is Refusal.PACKET_SIZE


def test_packets_that_a_form_cannot_read_are_read_from_the_tree() -> None:
    def nothing(_match: re.Match[bytes]) -> Message | None:
        return None

    dialect = BLOKUS_2021_R3.evolve(plain_forms=(dataclasses.replace(JOIN, read=nothing),))
    connection = Connection(Role.SERVER, dialect, AFTER_JOIN)
    assert all_events(connection, whole(stream_of(b"<join/><join/>")))[:2] == [JoinRequest(None)] * 2


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


def test_the_input_of_the_parser_for_skipped_packets_is_bounded() -> None:
    """A line's end for each line: refused moves alone must not add up to all that a peer has ever sent."""
    connection = Connection(Role.SERVER, PLAIN, AFTER_JOIN)
    connection._reader._parser = parser = CountingParser(connection._reader._parser)  # type: ignore[assignment]
    connection.receive_data(b"<protocol><join x=''/>")
    assert connection.next_event() == JoinRequest(None)
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
