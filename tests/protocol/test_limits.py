"""The limits' values."""

from __future__ import annotations

from protocol.limits import AFTER_JOIN, BEFORE_JOIN, FROM_SERVER, REPORT_FROM_SERVER, Limits


def test_the_defaults_are_those_of_a_stranger() -> None:
    assert Limits() == BEFORE_JOIN == Limits(packet_bytes=8192, depth=32, attributes=64, children=4096)


def test_who_is_known_may_send_more_in_bytes_only() -> None:
    assert Limits(packet_bytes=65_536) == AFTER_JOIN
    assert Limits(packet_bytes=1_048_576) == FROM_SERVER
    assert Limits(packet_bytes=8_388_608) == REPORT_FROM_SERVER
