from __future__ import annotations

from spielleiter.server.core.host import RoomHost
from tests.server.room_harness import RoomHarness


def test_a_lobby_is_a_host_and_hears_the_last_word_of_its_rooms() -> None:
    harness = RoomHarness()
    host: RoomHost = harness.lobby
    room, _, _, _ = harness.game()
    assert room.id in harness.lobby.rooms
    host.room_over(room, None)
    assert harness.lobby.rooms == {}
