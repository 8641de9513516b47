"""A stranger, a player and an administrator may send what they need."""

from __future__ import annotations

from spielleiter.protocol.limits import Limits
from spielleiter.server.config.config import Config
from spielleiter.server.net.packet_limits import limits_of, stranger_limits
from tests.server.room_harness import RoomHarness

CONFIG = Config(packet_bytes_before=300, packet_bytes_player=400, packet_bytes=500, packet_children_player=6)


def test_each_has_limits_of_its_own() -> None:
    harness = RoomHarness()
    player, admin = harness.fake_peer("player").peer, harness.fake_peer("admin", is_admin=True).peer
    assert stranger_limits(CONFIG) == Limits(packet_bytes=300, children=6)
    assert limits_of(player, CONFIG) == Limits(packet_bytes=400, children=6)
    assert limits_of(admin, CONFIG) == Limits(packet_bytes=500)
