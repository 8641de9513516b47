"""Refused bytes: the error of the reader says where in the packet the fault is."""

from __future__ import annotations

import pytest

from spielleiter.protocol.errors import RemoteProtocolError
from spielleiter.protocol.limits import BEFORE_JOIN, Limits
from tests.protocol.streams import CUTS, Cut, all_packets, whole

TIGHT = Limits(packet_bytes=300, depth=4, attributes=2, children=3, names=8, name_length=16)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    ("before", "fault", "limits"),
    [
        ("<protocol><join gameType=", "></protocol>", BEFORE_JOIN),
        ("<protocol><join/>\n  <room>ü<data></", "room>", BEFORE_JOIN),
        ("<protocol><room>", "&auml;</room>", BEFORE_JOIN),
        ("<protocol><a><b><c>", "<d/></c>", TIGHT),
        ("<protocol><a>", '<b a="" b="" c=""/></a>', TIGHT),
        ("<protocol><a><b/><b/><b/>", "<b/></a>", TIGHT),
        ("<protocol><a>", "<aVeryLongNameIndeed/></a>", TIGHT),
        ("<protocol><a>" + 287 * "x", "x</a>", TIGHT),
        ("<protocol><!-- <x> --><a><![CDATA[<y>]]><?z <z>?></a>" + "<a>", "<aVeryLongNameIndeed/></a>", TIGHT),
        ("", '<?xml version="1.0" encoding="latin-1"?><protocol>', BEFORE_JOIN),
        ("", "<!DOCTYPE a []><protocol>", BEFORE_JOIN),
        ("\n ", "GET / HTTP/1.1\r\n", BEFORE_JOIN),
        ("", "<\0p\0", BEFORE_JOIN),
    ],
)
def test_a_refusal_says_where_the_fault_is(before: str, fault: str, limits: Limits, cut: Cut) -> None:
    with pytest.raises(RemoteProtocolError) as error:
        all_packets(cut((before + fault).encode()), limits)
    start = max(before.rfind(end) + len(end) if end in before else 0 for end in ("<join/>", "</a>"))
    assert error.value.position == len(before[start:].encode())


def test_bytes_that_are_not_utf8_count_as_one_each() -> None:
    with pytest.raises(RemoteProtocolError) as error:
        all_packets(whole(b"<protocol><room>\xff\xfe\xfc</data>"))
    assert error.value.position == len(b"<protocol><room>\xff\xfe\xfc</")
