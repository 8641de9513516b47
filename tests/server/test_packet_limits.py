"""A stranger, a player and an administrator may send what they need."""

from __future__ import annotations

from protocol.limits import Limits
from server.config import Config
from server.packet_limits import limits_of, stranger_limits
from tests.server.playbook import Table

CONFIG = Config(packet_bytes_before=300, packet_bytes_player=400, packet_bytes=500, packet_children_player=6)


def test_each_has_limits_of_its_own() -> None:
    table = Table()
    player, admin = table.guest("player").peer, table.guest("admin", is_admin=True).peer
    assert stranger_limits(CONFIG) == Limits(packet_bytes=300, children=6)
    assert limits_of(player, CONFIG) == Limits(packet_bytes=400, children=6)
    assert limits_of(admin, CONFIG) == Limits(packet_bytes=500)
