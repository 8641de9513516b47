"""The lobby is what a room needs as its host."""

from __future__ import annotations

from spielleiter.server.core.room import RoomHost
from tests.server.room_harness import RoomHarness


def test_a_lobby_is_a_room_host_and_forgets_closed_rooms() -> None:
    harness = RoomHarness()
    host: RoomHost = harness.lobby
    room, _, _, _ = harness.game()
    assert room.id in harness.lobby.rooms
    host.room_closed(room.id, None)
    assert harness.lobby.rooms == {}
    assert all(not member.rooms and not member.observed for member in harness.lobby.members.values())
