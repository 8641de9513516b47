"""Strangers, players and administrators each have their own limits."""

from __future__ import annotations

from spielleiter.protocol.limits import Limits
from spielleiter.server.config import Config
from spielleiter.server.net.packet_limits import limits_of, stranger_limits
from tests.server.room_harness import RoomHarness

CONFIG = Config(packet_bytes_before=300, packet_bytes_player=400, packet_bytes=500, packet_children_player=6)


def test_each_role_has_its_own_limits() -> None:
    harness = RoomHarness()
    player, admin = harness.fake_peer("player").member, harness.fake_peer("admin", is_admin=True).member
    assert stranger_limits(CONFIG) == Limits(packet_bytes=300, children=6)
    assert limits_of(player, CONFIG) == Limits(packet_bytes=400, children=6)
    assert limits_of(admin, CONFIG) == Limits(packet_bytes=500)
