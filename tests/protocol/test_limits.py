"""The values of the limits."""

from __future__ import annotations

from spielleiter.protocol.limits import AFTER_JOIN, BEFORE_JOIN, FROM_SERVER, REPORT_FROM_SERVER, Limits


def test_the_defaults_are_for_a_peer_that_has_not_joined() -> None:
    stranger = Limits(packet_bytes=8192, depth=32, attributes=64, children=4096, names=128, name_length=64)
    assert Limits() == BEFORE_JOIN == stranger


def test_joined_peers_may_send_more_bytes_and_servers_more_names() -> None:
    assert Limits(packet_bytes=65_536) == AFTER_JOIN
    assert Limits(packet_bytes=1_048_576, names=1024) == FROM_SERVER
    assert Limits(packet_bytes=8_388_608, names=1024) == REPORT_FROM_SERVER
